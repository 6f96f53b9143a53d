// The page Errors: messages of the error log, grouped by their Perl file and line and their text.

import { el } from "./elements.js";
import { Table } from "./table.js";
import { duration, number } from "./words.js";

const ago = at => `${duration(Math.max(0, Date.now() / 1000 - at))} ago`;

export class ErrorsPage {
  constructor({ read }) {
    this.read = read;
    this.table = new Table("Warnings and errors", [
      { key: "last", title: "Last", number: true, sort: row => row.last, text: row => ago(row.last) },
      { key: "count", title: "Count", number: true, sort: row => row.count, text: row => number(row.count) },
      { key: "level", title: "Level", text: row => row.level },
      { key: "place", title: "File and line", text: row => row.place || "–" },
      { key: "message", title: "Message", text: row => row.message },
      { key: "request", title: "Last request", text: row => row.request || "–" },
      { key: "worker", title: "Worker", number: true, sort: row => row.worker, text: row => row.worker ?? "–" },
      { key: "first", title: "First", number: true, sort: row => row.first, text: row => ago(row.first) },
    ], "last", { empty: "The error log has no warning and no error since the start." });
    this.element = el("div", {}, el("p", { class: "quiet" }, "Messages that differ only in numbers are one row. The server keeps the 200 rows with the newest messages."), this.table.element);
    this.read_at = -Infinity;
  }

  async show() {
    if (performance.now() - this.read_at < 2000) return;
    this.read_at = performance.now();
    const { errors } = await this.read("errors");
    this.table.set(errors);
  }
}
