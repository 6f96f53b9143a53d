// Runs the console: asks the server once a second while the page is visible, and shows one page.

import { ask, takeFirst } from "./ask.js";
import { el, say } from "./elements.js";
import { Samples } from "./samples.js";
import { BackEndsPage } from "./back_ends.js";
import { ErrorsPage } from "./errors.js";
import { HistoryPage } from "./history.js";
import { InsidePage } from "./inside.js";
import { MachinePage } from "./machine.js";
import { MemoryPage } from "./memory.js";
import { NowPage } from "./now.js";
import { ProfilesPage } from "./profiles.js";
import { WherePage } from "./where.js";
import { openWorker, refreshWorker } from "./worker.js";

const PAGES = [
  ["now", "Now", NowPage], ["where", "Where", WherePage], ["memory", "Memory", MemoryPage],
  ["errors", "Errors", ErrorsPage], ["back-ends", "Back ends", BackEndsPage],
  ["inside", "Inside", InsidePage], ["profiles", "Profiles", ProfilesPage], ["machine", "Machine", MachinePage], ["history", "History", HistoryPage],
];
const PAUSE = 1000; // milliseconds between two looks, or more if the server says so

const place = document.getElementById("page"), state = document.getElementById("state");
const samples = new Samples(), made = new Map();
let status = null, current = null;

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

function choose() {
  const name = location.hash.slice(1);
  const [key, title, Page] = PAGES.find(([key]) => key === name) ?? PAGES[0];
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${key}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!made.has(key)) made.set(key, new Page(context));
  current = made.get(key);
  document.title = `${title} – Mehari console`;
  place.replaceChildren(el("h1", {}, title), current.element);
  show();
}

async function show() {
  if (!status) return;
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
addEventListener("hashchange", () => { choose(); place.focus({ preventScroll: true }); scrollTo(0, 0); });
choose();
look();
