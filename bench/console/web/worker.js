// The window about one worker: its process, memory, request, libraries and Perl stack.

import { el, pairs } from "./elements.js";
import { bytes, duration, number, time } from "./words.js";

const dialog = document.getElementById("worker");
let shown = null;

export async function openWorker(pid, read) {
  shown = { pid, read, place: el("div", {}, el("p", { class: "quiet" }, "Reading the process…")) };
  const close = el("button", { type: "button", class: "plain", onclick: () => dialog.close() }, "Close");
  dialog.replaceChildren(
    el("div", { class: "dialog-head" }, el("h1", { id: "worker-title" }, `Worker ${pid}`), close), shown.place);
  if (!dialog.open) dialog.showModal();
  await refreshWorker();
}

dialog.addEventListener("close", () => { shown = null; });
dialog.addEventListener("click", event => { if (event.target === dialog) dialog.close(); });

// Reads the worker again if its window is open.
export async function refreshWorker() {
  if (!shown || !dialog.open) return;
  const { pid, read, place } = shown;
  let facts;
  try { facts = await read(`worker/${pid}`); } catch (error) {
    place.replaceChildren(el("p", { class: "problem" }, error.message));
    return;
  }
  place.replaceChildren(
    request(facts.worker), el("h2", {}, "Perl stack, the innermost call first"), stack(facts.stack),
    el("h2", {}, "Process"), processFacts(facts), el("h2", {}, "Memory"), memory(facts),
    el("h2", {}, "Programs and libraries"), libraries(facts.libraries));
}

function request(worker) {
  const asked = worker.request;
  return pairs([
    ["State", worker.state === "busy" ? `busy for ${time(worker.running_ms * 1000)}` : worker.state],
    ["Request", asked ? `${asked.method} ${asked.target}` : "none"],
    ["Client", asked?.client ?? "none"],
    ["Requests served", worker.limit ? `${number(worker.served)} of ${number(worker.limit)}` : number(worker.served)],
    ["Last request took", worker.served ? time(worker.last_us) : "–"],
    ["Requests held", number(worker.held)],
  ]);
}

function stack({ frames, reason }) {
  if (!frames.length) return el("p", { class: "quiet" }, reason);
  return el("ol", { class: "stack" }, ...frames.map(frame => el("li", {}, el("code", {}, frame.name),
    el("span", { class: "quiet" }, frame.file ? ` ${frame.file}:${frame.line}` : ` ${frame.kind}`))));
}

function processFacts({ worker, process }) {
  if (!process) return el("p", { class: "quiet" }, "The process has ended.");
  return pairs([
    ["Name", process.name], ["Command", process.command], ["User", process.user],
    ["State", process.state], ["Parent", String(process.parent)], ["Terminal", process.terminal],
    ["Age", duration(worker.age_s)], ["Processor time", time(process.cpu_ms * 1000)],
    ["Generation", String(worker.generation)],
  ]);
}

function memory({ worker, process, memory }) {
  const list = process ? [["Size", bytes(process.virtual_size)]] : [];
  if (memory) list.push(["Resident", bytes(memory.rss)], ["Proportional", bytes(memory.pss)],
    ["Private", bytes(memory.private)], ["Shared", bytes(memory.shared)], ["Swapped out", bytes(memory.swap)]);
  if (worker.memory) list.push(["Unshared since the fork", bytes(worker.memory.unshared)],
    ["Growth per request", bytes(worker.memory.growth_per_request)]);
  return list.length ? pairs(list) : el("p", { class: "quiet" }, "The kernel does not tell it.");
}

function libraries(files) {
  if (!files.length) return el("p", { class: "quiet" }, "The kernel does not tell them.");
  return el("ul", { class: "stack" }, ...files.map(file => el("li", {}, el("code", {}, file))));
}
