// A sortable table that keeps only the visible rows in the document, so ten thousand rows scroll
// as easily as ten.

import { el, say } from "./elements.js";

const ROW = 32; // pixels of a row, as in the style sheet at 16 pixels a rem; measured when shown
const MORE = 12; // rows above and below the visible ones

export class Table {
  // `columns`: { key, title, number, sort(row), text(row), open(row), opens(row), href(row) }.
  constructor(label, columns, order, options = {}) {
    Object.assign(this, { columns, order, rows: [], shown: [], height: ROW, filter: "" });
    this.downwards = options.downwards ?? true;
    this.heads = columns.map(column => el("th", { scope: "col", class: column.number ? "number" : null },
      el("button", { type: "button", onclick: () => this.sortBy(column) }, column.title)));
    this.body = el("tbody");
    this.table = el("table", {}, el("thead", {}, el("tr", {}, ...this.heads)), this.body);
    this.scroll = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label,
      onscroll: () => this.draw() }, this.table);
    this.empty = el("p", { class: "empty", hidden: true }, options.empty ?? "There is nothing to show.");
    this.scroll.append(this.empty);
    this.count = el("span", { class: "quiet" });
    const input = el("input", { type: "search", oninput: () => { this.filter = input.value.toLowerCase(); this.arrange(); } });
    this.element = el("section", {}, el("div", { class: "tools" }, el("h2", {}, label), this.count,
      options.search === false ? null : el("label", {}, "Only", input)), this.scroll);
  }

  // Hides or shows a column.
  hide(key, isHidden) {
    const column = this.columns.find(one => one.key === key);
    column.hidden = isHidden;
    this.heads[this.columns.indexOf(column)].hidden = isHidden;
  }

  set(rows) { this.rows = rows; this.arrange(); }

  sortBy(column) {
    if (this.order === column.key) this.downwards = !this.downwards;
    else { this.order = column.key; this.downwards = Boolean(column.number); }
    this.arrange();
  }

  arrange() {
    const column = this.columns.find(one => one.key === this.order) ?? this.columns[0];
    const by = column.sort ?? column.text;
    const takes = row => this.columns.some(one => String(one.text(row)).toLowerCase().includes(this.filter));
    const rows = this.filter ? this.rows.filter(takes) : this.rows;
    const keyed = rows.map(row => ({ row, value: by(row) ?? (column.number ? -1 : "") }));
    keyed.sort((a, b) => (a.value < b.value ? -1 : a.value > b.value ? 1 : 0));
    if (this.downwards) keyed.reverse();
    this.shown = keyed.map(one => one.row);
    this.heads.forEach((head, index) => {
      const isOrder = this.columns[index].key === this.order;
      if (isOrder) head.setAttribute("aria-sort", this.downwards ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    say(this.count, rows.length === this.rows.length ? `${rows.length}` : `${rows.length} of ${this.rows.length}`);
    this.table.setAttribute("aria-rowcount", rows.length + 1);
    this.empty.hidden = rows.length > 0;
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.scroll.scrollTop / this.height) - MORE);
    const visible = Math.ceil((this.scroll.clientHeight || 800) / this.height) + 2 * MORE;
    const last = Math.min(this.shown.length, first + visible);
    const focused = this.body.contains(document.activeElement)
      ? document.activeElement.dataset.row : null;
    const lines = this.shown.slice(first, last).map((row, at) => this.line(row, first + at));
    this.body.replaceChildren(gap(first * this.height, this.columns.length), ...lines,
      gap((this.shown.length - last) * this.height, this.columns.length));
    const height = lines[0]?.getBoundingClientRect().height;
    if (height) this.height = height;
    if (focused) this.body.querySelector(`[data-row="${CSS.escape(focused)}"]`)?.focus();
  }

  line(row, index) {
    const cells = this.columns.map(column => {
      const text = String(column.text(row));
      const content = column.open && (column.opens?.(row) ?? true)
        ? el("a", { href: column.href(row), "data-row": text,
            onclick: event => { event.preventDefault(); column.open(row); } }, text)
        : text;
      return el("td", { class: column.number ? "number" : null, hidden: column.hidden, title: text.length > 40 ? text : null }, content);
    });
    return el("tr", { "aria-rowindex": index + 2 }, ...cells);
  }
}

function gap(height, columns) {
  const cell = el("td", { colspan: columns });
  cell.style.height = `${height}px`;
  return el("tr", { class: "gap", "aria-hidden": "true", hidden: height === 0 }, cell);
}
