"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const graph = document.getElementById("graph");
const detail = document.getElementById("detail");
const view = { top: data.root, path: [], clock: data.clock || (data.root.c > 0 ? "c" : "w"), down: false, words: "" };
const ROW = 19;
// In a difference of two profiles, the capital letters have the counts before.
const STEPS = [[3, "3"], [1, "2"], [0.1, "1"]];

const weight = () => {
  const weights = view.clock === view.clock.toLowerCase() ? data : data.before;
  return view.clock.toLowerCase() === "c" ? weights.cpuWeight : weights.wallWeight;
};
const seconds = (node) => node[view.clock] * weight();
const share = (node, clock) => (100 * node[clock]) / Math.max(1, data.root[clock]);
const percent = (node) => share(node, view.clock);
const shares = (node) => [share(node, view.clock.toUpperCase()), share(node, view.clock.toLowerCase())];
const signed = (points) => `${points < 0 ? "\u2212" : "+"}${Math.abs(points).toFixed(1)}`;

function change(node) {
  const [before, after] = shares(node);
  const step = STEPS.find(([least]) => Math.abs(after - before) >= least);
  return { points: after - before, name: step ? (after > before ? "up" : "down") + step[1] : "same" };
}

function legend() {
  const texts = [
    ["up3", "+3 points of share and more"], ["up2", "+1 to +3"], ["up1", "+0.1 to +1"], ["same", "less than 0.1"],
    ["down1", "\u22120.1 to \u22121"], ["down2", "\u22121 to \u22123"], ["down3", "\u22123 and more"],
  ];
  const place = document.getElementById("legend");
  place.append("The number before each name is the difference of its share of the time, with its callees. ");
  for (const [name, text] of texts) {
    const sample = document.createElement("span");
    sample.className = name;
    sample.textContent = text;
    place.append(sample);
  }
}

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
  const own = self * weight();
  detail.textContent = `${node.n || "all"} (${node.k}): ${seconds(node).toFixed(3)} s, ` +
    `${percent(node).toFixed(1)} %, itself ${own.toFixed(3)} s` + (lines ? `. Lines: ${lines}` : "");
  if (data.before) {
    const [before, after] = shares(node);
    detail.textContent += `. Share: ${before.toFixed(1)} % before, ${after.toFixed(1)} % after, ` +
      `difference ${signed(after - before)} points`;
  }
}

function depth(node) {
  return 1 + node.s.reduce((most, one) => (one[view.clock] > 0 ? Math.max(most, depth(one)) : most), 0);
}

function place(node, path, left, width, row, rows) {
  if (width < 0.05) return;
  const bar = document.createElement("button");
  bar.type = "button";
  bar.className = data.before ? change(node).name : node.k.split(" ")[0];
  if (view.words && node.n.toLowerCase().includes(view.words)) bar.classList.add("found");
  bar.textContent = (data.before && node.n ? `${signed(change(node).points)} ` : "") + (node.n || "all");
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
    const part = (width * one[view.clock]) / Math.max(1, node[view.clock]);
    place(one, [...path, node], at, part, row + 1, rows);
    at += part;
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
    const part = (100 * found(data.root)) / Math.max(1, data.root[view.clock]);
    detail.textContent = `${part.toFixed(1)} % of the time in calls that match`;
  }
}

control("search", "Find", (input) => { view.words = input.value.toLowerCase(); });
const clock = control("checkbox", "Wall clock", (input) => { view.clock = input.checked ? "w" : "c"; });
clock.checked = view.clock === "w";
if (data.before) {
  legend();
  const before = control("checkbox", "Widths of before", () => {});
  const choose = () => {
    const letter = clock.checked ? "w" : "c";
    view.clock = before.checked ? letter.toUpperCase() : letter;
    [view.top, view.path] = [data.root, []];
    draw();
  };
  before.addEventListener("input", choose);
  clock.addEventListener("input", choose);
}
control("checkbox", "Icicle", (input) => { view.down = input.checked; });
draw();
