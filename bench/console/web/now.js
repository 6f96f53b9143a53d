// The page Now: rates, durations, the queue, and each worker as a tile and as a row.

import { Chart } from "./chart.js";
import { el, Figures, say } from "./elements.js";
import { Table } from "./table.js";
import { bytes, duration, number, rate, time } from "./words.js";

const LONG = 2000; // milliseconds after which a request counts as long
const MANY = 200; // workers above which tiles get smaller

// The columns of Apache::VMonitor, with the reading that sorts each.
export function workerColumns(openWorker) {
  const process = row => row.process ?? {};
  return [
    { key: "pid", title: "Process", number: true, sort: row => row.pid, text: row => row.pid,
      href: row => `#worker-${row.pid}`, open: row => openWorker(row.pid) },
    { key: "host", title: "Host", text: row => row.host },
    { key: "state", title: "State", text: row => row.state },
    { key: "elapsed", title: "Elapsed", number: true, sort: row => row.running_ms,
      text: row => (row.state === "busy" ? time(row.running_ms * 1000) : "–") },
    { key: "last", title: "Last request", number: true, sort: row => row.last_us,
      text: row => (row.served ? time(row.last_us) : "–") },
    { key: "served", title: "Served", number: true, sort: row => row.served, text: row => number(row.served) },
    { key: "age", title: "Age", number: true, sort: row => row.age_s, text: row => duration(row.age_s) },
    { key: "cpu", title: "CPU", number: true, sort: row => process(row).cpu_ms,
      text: row => time((process(row).cpu_ms ?? 0) * 1000) },
    { key: "size", title: "Size", number: true, sort: row => process(row).virtual_size, text: row => bytes(process(row).virtual_size) },
    { key: "rss", title: "RSS", number: true, sort: row => process(row).resident, text: row => bytes(process(row).resident) },
    { key: "share", title: "Share", number: true, sort: row => process(row).shared, text: row => bytes(process(row).shared) },
    { key: "held", title: "Held", number: true, sort: row => row.held, text: row => row.held },
    { key: "client", title: "Client", text: row => row.request?.client ?? "" },
    { key: "request", title: "Request", text: row => (row.request ? `${row.request.method} ${row.request.target}` : "") },
  ];
}

// The workers of a status, each with its process and the host that it serves.
export function workers(status) {
  const teams = status.pool.teams;
  return status.pool.workers.map(worker => ({
    ...worker,
    process: status.processes?.[worker.pid],
    host: teams.length > 1 && teams[worker.team] ? teamName(teams[worker.team]) : "",
  }));
}

// The host that a team serves, or its pool.
function teamName(team) {
  if (!team.host) return "main server";
  return team.pool ? `pool ${team.host}` : team.host;
}

// What a team's crash loop is, in words.
function crashLoop(team) {
  const { what, in_a_row: count, next_ms: next } = team.crash_loop;
  return `${teamName(team)} is in a crash loop: ${count} ${what}s in a row have ended or could not ` +
    `start; the next start is in ${duration(next / 1000)}.`;
}

export class NowPage {
  constructor({ samples, openWorker }) {
    this.samples = samples;
    this.openWorker = openWorker;
    this.figures = new Figures({ requests: "Requests", p50: "Half within", p99: "99 % within",
      errors: "Errors (5xx)", workers: "Workers", queue: "In the queue", connections: "Connections",
      cache: "Cache hits" });
    this.rates = new Chart("Requests a second", ["requests", "errors"], rate);
    this.times = new Chart("Durations", ["p50", "p90", "p99"], time);
    this.waits = new Chart("Waiting for a worker", ["p50", "p99"], time);
    this.use = new Chart("Workers", ["busy", "idle", "queue"], number);
    this.tiles = new Tiles(openWorker);
    this.table = new Table("Workers in a table", workerColumns(openWorker), "elapsed");
    this.plan = el("p", { class: "quiet" });
    this.element = el("div", {}, this.figures.element,
      el("div", { class: "charts" }, this.rates.element, this.times.element, this.waits.element, this.use.element),
      el("div", { class: "tools" }, el("h2", {}, "Workers")), this.plan, this.tiles.element, this.table.element);
  }

  show(status) {
    const { pool, front } = status, newest = this.samples.newest();
    this.figures.set("requests", newest ? `${rate(newest.requests)}/s` : "–");
    this.figures.set("errors", newest ? `${rate(newest.errors)}/s` : "–");
    this.figures.set("p50", time(newest?.p50));
    this.figures.set("p99", time(newest?.p99));
    this.figures.set("workers", `${pool.busy} of ${pool.busy + pool.idle} busy`);
    this.figures.set("queue", number(pool.queue));
    this.figures.set("connections", number(front.open_connections));
    const { hits, misses } = front.cache;
    this.figures.set("cache", hits + misses ? `${(100 * hits / (hits + misses)).toFixed(1)} %` : "–");
    const since = this.samples.since();
    this.rates.draw(this.samples.points(one => [one.requests, one.errors]), since);
    this.times.draw(this.samples.points(one => [one.p50, one.p90, one.p99]), since);
    this.waits.draw(this.samples.points(one => [one.wait50, one.wait99]), since);
    this.use.draw(this.samples.points(one => [one.busy, one.idle, one.queue]), since);
    const crashing = pool.teams.filter(team => team.crash_loop).map(crashLoop);
    say(this.plan, [...crashing, pool.plan.reasoning ?? ""].join(" "));
    const rows = workers(status);
    this.tiles.show(rows);
    this.table.hide("host", pool.teams.length < 2);
    this.table.set(rows);
  }
}

// A field of tiles, one for each worker. The arrow keys move among the tiles.
class Tiles {
  constructor(openWorker) {
    this.tiles = new Map();
    this.drawn = new Map(); // what each tile shows
    const open = event => {
      const tile = event.target.closest(".tile");
      if (tile) openWorker(Number(tile.dataset.pid));
    };
    this.field = el("div", { class: "tiles", role: "group", "aria-label": "Workers", onclick: open,
      onkeydown: event => this.move(event) });
    const key = [["idle", "idle"], ["busy", "busy"], ["long", `busy for more than ${LONG / 1000} s`],
      ["starting", "starting"], ["retiring", "finishing (draining)"]];
    this.element = el("div", {}, this.field,
      el("p", { class: "key" }, ...key.map(([name, text]) => el("span", { class: name }, text))));
  }

  show(rows) {
    this.field.classList.toggle("many", rows.length > MANY);
    const seen = new Set(rows.map(row => row.pid));
    for (const [pid, tile] of this.tiles) if (!seen.has(pid)) { tile.remove(); this.tiles.delete(pid); this.drawn.delete(pid); }
    const fresh = rows.filter(row => !this.tiles.has(row.pid)).map(row => this.make(row.pid));
    for (const row of rows) this.draw(row, rows.length > MANY);
    this.field.append(...fresh);
    const first = this.field.firstElementChild;
    if (first && !this.field.querySelector("[tabindex='0']")) first.tabIndex = 0;
  }

  // A tile outside of the document, so that a thousand tiles are laid out only once.
  make(pid) {
    const tile = el("button", { type: "button", tabindex: "-1", "data-pid": pid });
    this.tiles.set(pid, tile);
    return tile;
  }

  draw(row, isSmall) {
    const looks = `${row.state} ${row.running_ms} ${row.request?.target} ${isSmall}`;
    if (this.drawn.get(row.pid) === looks) return;
    this.drawn.set(row.pid, looks);
    const state = row.state === "busy" && row.running_ms > LONG ? "long" : row.state;
    const what = row.state === "busy" ? time(row.running_ms * 1000) : row.state;
    const request = row.request ? `: ${row.request.method} ${row.request.target}` : "";
    const tile = this.tiles.get(row.pid);
    tile.className = `tile ${state}`;
    tile.title = `${row.pid} ${row.state}${row.state === "busy" ? ` for ${what}` : ""}${request}`;
    if (isSmall) {
      tile.setAttribute("aria-label", tile.title);
      tile.replaceChildren();
      return;
    }
    tile.removeAttribute("aria-label");
    if (!tile.firstChild) tile.append(el("b"), " ", el("span"));
    say(tile.firstChild, String(row.pid));
    say(tile.lastChild, what);
  }

  move(event) {
    const all = [...this.field.children], at = all.indexOf(document.activeElement);
    const across = Math.max(1, getComputedStyle(this.field).gridTemplateColumns.split(" ").length);
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across,
      Home: -at, End: all.length - 1 - at }[event.key];
    if (step === undefined || at < 0 || !all[at + step]) return;
    event.preventDefault();
    all[at].tabIndex = -1;
    all[at + step].tabIndex = 0;
    all[at + step].focus();
  }
}
