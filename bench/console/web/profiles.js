// The page Profiles: the reports of exact profiles, which `mehari profile --exact` has made. The
// pages of a report come without their scripts, because an application's names stand in them.

import { el } from "./elements.js";
import { Table } from "./table.js";
import { duration, number } from "./words.js";

const ago = at => `${duration(Math.max(0, Date.now() / 1000 - at))} ago`;

export class ProfilesPage {
  constructor({ read }) {
    this.read = read;
    this.table = new Table("Exact profiles", [
      { key: "at", title: "Made", number: true, sort: row => row.at, text: row => ago(row.at) },
      { key: "about", title: "Requests for", text: row => row.about,
        opens: row => row.is_readable, href: row => `reports/${row.id}/index.html` },
      { key: "profiles", title: "Profiles", number: true, sort: row => row.profiles, text: row => number(row.profiles) },
      { key: "folder", title: "Folder", text: row => row.folder },
    ], "at", { empty: "There is no report since the start. Make one: mehari profile --exact URL -o shop-profile" });
    this.element = el("div", {}, el("p", { class: "quiet" }, "Each statement and each call of chosen requests, counted by Devel::NYTProf. Here the reports are shown without their scripts, so their tables are not sorted by a click. Open a folder in a browser for all of a report. A report without a link cannot be read by the console's user."), this.table.element);
    this.read_at = -Infinity;
  }

  async show() {
    if (performance.now() - this.read_at < 2000) return;
    this.read_at = performance.now();
    const { reports } = await this.read("reports");
    this.table.set(reports);
  }
}
