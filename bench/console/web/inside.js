// The page Inside: what a Perl process has loaded, and what its code and variables take. The answer
// is a table or a text. Names and texts are an application's, so they only become text nodes.

import { el, say } from "./elements.js";
import { Table } from "./table.js";
import { bytes, number, time } from "./words.js";

const FIGURES = { bytes, number, us: time };
// Where a name of a column leads.
const LINKS = { package: "symbols", symbol: null, size: "sizes", menu: "menu" };

export class InsidePage {
  constructor({ read }) {
    this.read = read;
    this.asked = 0;
    this.process = el("select", { onchange: () => this.ask() },
      el("option", { value: "any" }, "an idle worker"), el("option", { value: "zygote" }, "the zygote"));
    this.view = el("select", { onchange: () => this.choose() });
    this.name = el("input", { type: "search", spellcheck: "false", autocomplete: "off" });
    this.named = el("label", { hidden: true }, el("span", {}, "Name"), this.name);
    this.about = el("p", { class: "quiet" });
    this.place = el("div", { "aria-live": "polite" });
    const form = el("form", { class: "tools inside", onsubmit: event => { event.preventDefault(); this.ask(); } },
      el("label", {}, "Process", this.process), el("label", {}, "View", this.view), this.named,
      el("button", { class: "plain" }, "Look"));
    this.element = el("div", {}, form, this.about, this.place);
  }

  async show({ pool }) {
    this.offer(pool.workers.filter(worker => worker.pid).map(worker => worker.pid));
    if (this.views) return;
    this.views = (await this.read("views")).views;
    this.view.append(...this.views.map(view => el("option", { value: view.word }, view.word)));
    this.choose();
  }

  // Offers the workers that run now, and keeps the one that is chosen.
  offer(pids) {
    const texts = pids.map(pid => `${pid}`);
    for (const option of [...this.process.options].slice(2)) {
      if (!texts.includes(option.value) && option.value !== this.process.value) option.remove();
    }
    const known = new Set([...this.process.options].map(option => option.value));
    this.process.append(...texts.filter(pid => !known.has(pid)).map(pid => el("option", { value: pid }, `worker ${pid}`)));
  }

  choose(name = "") {
    const { about, of } = this.views.find(view => view.word === this.view.value);
    this.named.hidden = !of.what;
    if (of.what) say(this.named.firstChild, of.what[0] + of.what.slice(1).toLowerCase());
    this.name.value = name;
    say(this.about, `${about[0].toUpperCase()}${about.slice(1)}.`);
    if (of.needed && !name) this.place.replaceChildren(el("p", { class: "quiet" }, "Which one? Enter a name, such as Shop::list."));
    else this.ask();
  }

  go(view, name) { this.view.value = view; this.choose(name); }

  async ask() {
    const turn = ++this.asked;
    const name = this.named.hidden ? "" : this.name.value.trim();
    const path = ["inspect", this.process.value, this.view.value, ...(name ? [name] : [])].map(encodeURIComponent);
    this.place.setAttribute("aria-busy", "true");
    let shown;
    try { shown = this.draw(await this.read(path.join("/"))); } catch (error) {
      shown = [el("p", { class: "problem" }, error.message)];
    }
    if (turn !== this.asked) return;
    this.place.removeAttribute("aria-busy");
    this.place.replaceChildren(...shown);
  }

  draw({ title, pid, text, columns, rows, note }) {
    const below = el("p", { class: "quiet" }, `Process ${pid}. ${note ?? ""}`);
    if (text !== undefined) return [el("h2", {}, title), el("pre", { class: "source", tabindex: "0" }, text), ...this.others(), below];
    const table = new Table(title, columns.map((column, at) => this.column(column, at)), "0", { downwards: false });
    table.set(rows);
    requestAnimationFrame(() => table.draw());
    return [table.element, ...this.others(), below];
  }

  column({ name, kind }, at) {
    const write = FIGURES[kind];
    const shown = { key: `${at}`, title: name, number: Boolean(write), sort: row => row[at],
      text: row => write ? write(row[at]) : row[at] ?? "" };
    if (kind in LINKS) {
      Object.assign(shown, { href: () => "#inside", opens: row => Boolean(this.leads(kind, row, at)),
        open: row => this.go(...this.leads(kind, row, at)) });
    }
    return shown;
  }

  // Returns the view and the name to which a cell leads, or null.
  leads(kind, row, at) {
    if (kind === "package" && !/^\w+(::\w+)*$/.test(row[at])) return null;
    if (kind !== "symbol") return row[at] ? [LINKS[kind], row[at]] : null;
    if (row[1] === "package") return ["symbols", row[at]];
    return row[1] === "sub" && row[3] !== "XS" ? ["source", row[at]] : null;
  }

  // Other views of the same sub.
  others() {
    const of = ["source", "ops", "lexicals", "sizes"];
    if (!of.includes(this.view.value) || !this.name.value.includes("::")) return [];
    const links = of.filter(view => view !== this.view.value).map(view => el("button", { type: "button", class: "link",
      onclick: () => this.go(view, this.name.value.trim()) }, view));
    return [el("p", { class: "others" }, "Of the same: ", ...links)];
  }
}
