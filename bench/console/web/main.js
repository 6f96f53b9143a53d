// Runs the console: asks the server once a second while the page is visible, and shows one page.

import { ask, takeFirst } from "./ask.js";
import { el, say } from "./elements.js";
import { Samples } from "./samples.js";
import { NowPage } from "./now.js";
import { openWorker, refreshWorker } from "./worker.js";

// The name, the title and the class of each page. Only the first page's module comes with the
// document.
const PAGES = [
  ["now", "Now", () => NowPage],
  ["where", "Where", async () => (await import("./where.js")).WherePage],
  ["memory", "Memory", async () => (await import("./memory.js")).MemoryPage],
  ["errors", "Errors", async () => (await import("./errors.js")).ErrorsPage],
  ["back-ends", "Back ends", async () => (await import("./back_ends.js")).BackEndsPage],
  ["inside", "Inside", async () => (await import("./inside.js")).InsidePage],
  ["profiles", "Profiles", async () => (await import("./profiles.js")).ProfilesPage],
  ["machine", "Machine", async () => (await import("./machine.js")).MachinePage],
  ["history", "History", async () => (await import("./history.js")).HistoryPage],
];
const PAUSE = 1000; // milliseconds between two looks, or more if the server says so

const place = document.getElementById("page"), state = document.getElementById("state");
const samples = new Samples(), made = new Map();
let status = null, current = null, wanted = null;

// Returns the server's figures. Throws the reason if there are none.
async function read(what) {
  const first = what === "now" ? takeFirst() : null;
  const answer = await (first ?? ask(what));
  const isJson = answer.headers.get("content-type") === "application/json";
  const figures = isJson ? await answer.json() : {};
  if (!answer.ok) throw new Error(figures.error ?? `the server answers with status ${answer.status}`);
  return figures;
}

const context = { read, samples, openWorker: pid => openWorker(pid, read) };

// Shows the page that the address names. A later choice may overtake this one while its module
// loads.
async function choose() {
  const name = location.hash.slice(1);
  const [key, title, load] = PAGES.find(([key]) => key === name) ?? PAGES[0];
  wanted = key;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${key}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${title} – Mehari console`;
  if (!made.has(key)) {
    let Page;
    try { Page = await load(); } catch (error) { return complain(error); }
    if (!made.has(key)) made.set(key, new Page(context));
  }
  if (wanted !== key) return;
  current = made.get(key);
  place.replaceChildren(el("h1", {}, title), current.element);
  await show();
}

async function show() {
  if (!status || !current) return;
  try { await current.show(status); } catch (error) { complain(error); }
}

function complain(error) {
  const reason = error instanceof TypeError
    ? "no answer: has the server, or `mehari console`, ended?" : error.message;
  say(state, reason);
  state.className = "problem";
}

async function look() {
  let pause = PAUSE;
  if (!document.hidden) {
    try {
      status = await read("now");
      pause = Math.max(PAUSE, status.pause_ms);
      samples.add(status);
      say(state, `${status.machine.host}, process ${status.pid}, generation ${status.pool.generation}`);
      state.className = "";
      await show();
      if (samples.count === 1) performance.mark("first figures");
      await refreshWorker();
    } catch (error) { complain(error); }
  }
  setTimeout(look, pause);
}

document.getElementById("pages").append(...PAGES.map(([key, title]) => el("a", { href: `#${key}` }, title)));
addEventListener("hashchange", async () => {
  await choose();
  place.focus({ preventScroll: true });
  scrollTo(0, 0);
});
await choose();
look();
