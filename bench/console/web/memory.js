// The page Memory: what all processes of the server take, what they share, and what grows.

import { el, Figures, say } from "./elements.js";
import { Table } from "./table.js";
import { bytes, number } from "./words.js";

export class MemoryPage {
  constructor({ read, openWorker }) {
    this.read = read;
    this.figures = new Figures({ all: "All processes", perl: "Perl's processes", shared: "Shared, counted once",
      private: "Private to one process", swap: "Swapped out", growth: "Largest growth per request" });
    const worker = row => row.worker?.memory ?? {};
    this.table = new Table("Processes of the server", [
      { key: "pid", title: "Process", number: true, sort: row => row.pid, text: row => row.pid,
        href: row => `#worker-${row.pid}`, opens: row => row.worker !== undefined, open: row => openWorker(row.pid) },
      { key: "name", title: "Name", text: row => row.name },
      { key: "rss", title: "Resident", number: true, sort: row => row.rss, text: row => bytes(row.rss) },
      { key: "pss", title: "Proportional", number: true, sort: row => row.pss, text: row => bytes(row.pss) },
      { key: "shared", title: "Shared", number: true, sort: row => row.shared, text: row => bytes(row.shared) },
      { key: "private", title: "Private", number: true, sort: row => row.private, text: row => bytes(row.private) },
      { key: "unshared", title: "Unshared", number: true, sort: row => worker(row).unshared, text: row => bytes(worker(row).unshared) },
      { key: "growth", title: "Growth per request", number: true, sort: row => worker(row).growth_per_request, text: row => bytes(worker(row).growth_per_request) },
      { key: "swap", title: "Swapped", number: true, sort: row => row.swap, text: row => bytes(row.swap) },
      { key: "served", title: "Served", number: true, sort: row => row.worker?.served, text: row => number(row.worker?.served) },
    ], "private");
    this.formula = el("p", { class: "quiet" });
    this.element = el("div", {}, this.figures.element,
      el("p", {}, "Proportional divides each shared page by the processes that map the page, so its sum counts each page once. Unshared memory was shared with the zygote until the worker wrote to it."),
      this.formula, this.table.element);
    this.read_at = -Infinity;
  }

  async show() {
    if (performance.now() - this.read_at < 5000) return;
    this.read_at = performance.now();
    const { pool, processes_of_server: processes, pid } = await this.read("memory");
    const sum = key => processes.reduce((all, one) => all + one[key], 0);
    const workers = new Map(pool.workers.map(worker => [worker.pid, worker]));
    const perl = processes.filter(one => one.pid !== pid);
    this.figures.set("all", bytes(sum("pss")));
    this.figures.set("perl", bytes(perl.reduce((all, one) => all + one.pss, 0)));
    this.figures.set("private", bytes(sum("private")));
    this.figures.set("shared", bytes(Math.max(0, sum("pss") - sum("private"))));
    this.figures.set("swap", bytes(sum("swap")));
    const growths = pool.workers.map(worker => worker.memory?.growth_per_request ?? 0);
    this.figures.set("growth", growths.length ? bytes(Math.max(...growths)) : "–");
    const { formula, pss } = pool.memory;
    say(this.formula, pss ? `The mod_perl guide's formula (shared once and the private memory of each) gave ${bytes(formula)} at the server's last look, the proportional sum ${bytes(pss)}.` : "");
    this.table.set(processes.map(one => ({ ...one, worker: workers.get(one.pid) })));
  }
}
