"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const graph = document.getElementById("graph");
const detail = document.getElementById("detail");
const view = { top: data.root, path: [], clock: data.root.c > 0 ? "c" : "w", down: false, words: "" };
const ROW = 19;

const seconds = (node) => node[view.clock] * (view.clock === "c" ? data.cpuWeight : data.wallWeight);
const percent = (node) => (100 * node[view.clock]) / Math.max(1, data.root[view.clock]);

function control(type, label, act) {
  const box = document.createElement("label");
  const input = document.createElement("input");
  input.type = type;
  input.addEventListener("input", () => { act(input); draw(); });
  box.append(label, " ", input);
  document.getElementById("controls").append(box);
  return input;
}

function describe(node) {
  const self = node.s.reduce((sum, one) => sum - one[view.clock], node[view.clock]);
  const lines = node.l.map(([place, count]) => `${place} (${count})`).join(", ");
  const own = self * (view.clock === "c" ? data.cpuWeight : data.wallWeight);
  detail.textContent = `${node.n || "all"} (${node.k}): ${seconds(node).toFixed(3)} s, ` +
    `${percent(node).toFixed(1)} %, itself ${own.toFixed(3)} s` + (lines ? `. Lines: ${lines}` : "");
}

function depth(node) {
  return 1 + node.s.reduce((most, one) => (one[view.clock] > 0 ? Math.max(most, depth(one)) : most), 0);
}

function place(node, path, left, width, row, rows) {
  if (width < 0.05) return;
  const bar = document.createElement("button");
  bar.type = "button";
  bar.className = node.k.split(" ")[0];
  if (view.words && node.n.toLowerCase().includes(view.words)) bar.classList.add("found");
  bar.textContent = node.n || "all";
  bar.style.left = `${left}%`;
  bar.style.width = `${width}%`;
  bar.style.top = `${(view.down ? row : rows - 1 - row) * ROW}px`;
  bar.addEventListener("mouseenter", () => describe(node));
  bar.addEventListener("focus", () => describe(node));
  bar.addEventListener("click", () => {
    const isTop = node === view.top && path.length > 0;
    view.path = isTop ? path.slice(0, -1) : path;
    view.top = isTop ? path[path.length - 1] : node;
    draw();
  });
  graph.append(bar);
  let at = left;
  for (const one of node.s) {
    const share = (width * one[view.clock]) / Math.max(1, node[view.clock]);
    place(one, [...path, node], at, share, row + 1, rows);
    at += share;
  }
}

function found(node) {
  if (view.words && node.n.toLowerCase().includes(view.words)) return node[view.clock];
  return node.s.reduce((sum, one) => sum + found(one), 0);
}

function draw() {
  const rows = depth(view.top);
  graph.replaceChildren();
  graph.style.height = `${rows * ROW}px`;
  place(view.top, view.path, 0, 100, 0, rows);
  if (view.words) {
    const share = (100 * found(data.root)) / Math.max(1, data.root[view.clock]);
    detail.textContent = `${share.toFixed(1)} % of the time in calls that match`;
  }
}

control("search", "Find", (input) => { view.words = input.value.toLowerCase(); });
const clock = control("checkbox", "Wall clock", (input) => { view.clock = input.checked ? "w" : "c"; });
clock.checked = view.clock === "w";
control("checkbox", "Icicle", (input) => { view.down = input.checked; });
draw();
