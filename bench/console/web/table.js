// A sortable table that keeps only the visible rows in the document, so ten thousand rows scroll
// as easily as ten. A row that scrolls out goes, and the rows that stay are not touched.

import { el, say } from "./elements.js";

const ROW = 32; // pixels of a row, as in the style sheet at 16 pixels a rem; measured when shown
const MORE = 12; // rows above and below the visible ones

export class Table {
  // `columns`: { key, title, number, sort(row), text(row), open(row), opens(row), href(row) }. A
  // link without `open` leads to another document.
  constructor(label, columns, order, options = {}) {
    Object.assign(this, { columns, order, rows: [], shown: [], height: ROW, filter: "", lines: new Map() });
    this.downwards = options.downwards ?? true;
    this.heads = columns.map(column => el("th", { scope: "col", class: column.number ? "number" : null },
      el("button", { type: "button", onclick: () => this.sortBy(column) }, column.title)));
    this.above = gap(columns.length);
    this.below = gap(columns.length);
    this.body = el("tbody", {}, this.above, this.below);
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
    if (Boolean(column.hidden) === isHidden) return;
    column.hidden = isHidden;
    this.heads[this.columns.indexOf(column)].hidden = isHidden;
    for (const line of this.lines.values()) line.element.remove();
    this.lines.clear();
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
    // The texts of figures are not searched, except of those that lead somewhere.
    const searched = this.columns.filter(one => !one.number || one.open);
    const takes = row => searched.some(one => String(one.text(row)).toLowerCase().includes(this.filter));
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
    this.isMeasured = false;
    this.keepFocus(() => {
      for (const [index, line] of this.lines) if (index < this.shown.length) line.fill(this.shown[index], index);
      this.draw();
    });
  }

  // Draws, then gives the focus back to the row that had it.
  keepFocus(draw) {
    const focused = this.body.contains(document.activeElement) ? document.activeElement.dataset.row : null;
    draw();
    if (focused === null || document.activeElement?.dataset.row === focused) return;
    const again = this.body.querySelector(`[data-row="${CSS.escape(focused)}"]`);
    (again ?? this.scroll).focus({ preventScroll: true });
  }

  draw() {
    const first = Math.max(0, Math.min(this.shown.length, Math.floor(this.scroll.scrollTop / this.height) - MORE));
    const visible = Math.ceil((this.scroll.clientHeight || 800) / this.height) + 2 * MORE;
    const last = Math.min(this.shown.length, first + visible);
    for (const [index, line] of this.lines) {
      if (index >= first && index < last) continue;
      line.element.remove();
      this.lines.delete(index);
    }
    let next = this.above.nextSibling;
    for (let index = first; index < last; index += 1) {
      let line = this.lines.get(index);
      if (!line) {
        line = new Line(this.columns);
        line.fill(this.shown[index], index);
        this.lines.set(index, line);
        this.body.insertBefore(line.element, next);
      }
      next = line.element.nextSibling;
    }
    stretch(this.above, first * this.height);
    stretch(this.below, (this.shown.length - last) * this.height);
    if (!this.isMeasured && last > first) this.measure(first);
  }

  // Measures the height of a row once it is laid out.
  measure(first) {
    const { height } = this.lines.get(first).element.getBoundingClientRect();
    if (!height) return;
    this.isMeasured = true;
    if (height === this.height) return;
    this.height = height;
    this.draw();
  }
}

// A row of the document, which shows one row of the table after another.
class Line {
  constructor(columns) {
    this.columns = columns;
    this.cells = columns.map(column => el("td", { class: column.number ? "number" : null, hidden: column.hidden }));
    this.element = el("tr", {}, ...this.cells);
  }

  fill(row, index) {
    this.row = row;
    this.element.setAttribute("aria-rowindex", index + 2);
    this.columns.forEach((column, at) => {
      const text = String(column.text(row)), cell = this.cells[at];
      if (text.length > 40) cell.title = text;
      else if (cell.title) cell.removeAttribute("title");
      if (!column.href || !(column.opens?.(row) ?? true)) return say(cell, text);
      const link = cell.firstElementChild ?? this.link(column, cell);
      link.href = column.href(row);
      link.dataset.row = text;
      say(link, text);
    });
  }

  link(column, cell) {
    const open = event => { event.preventDefault(); column.open(this.row); };
    const link = el("a", column.open ? { onclick: open } : {});
    cell.replaceChildren(link);
    return link;
  }
}

function gap(columns) {
  return el("tr", { class: "gap", "aria-hidden": "true", hidden: true }, el("td", { colspan: columns }));
}

function stretch(gap, height) {
  gap.hidden = height === 0;
  gap.firstChild.style.height = `${height}px`;
}
