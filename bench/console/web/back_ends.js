// The page Back ends: the groups of back ends with their members.

import { el } from "./elements.js";
import { Table } from "./table.js";
import { number, percent, time } from "./words.js";

export class BackEndsPage {
  constructor() {
    const failed = row => (row.requests ? 100 * row.failed / row.requests : 0);
    this.table = new Table("Back ends", [
      { key: "group", title: "Group", text: row => row.group },
      { key: "name", title: "Back end", text: row => row.name },
      { key: "state", title: "State", text: row => row.state },
      { key: "active_requests", title: "Active requests", number: true, sort: row => row.active_requests, text: row => number(row.active_requests) },
      { key: "idle", title: "Idle connections", number: true, sort: row => row.idle, text: row => number(row.idle) },
      { key: "waiting", title: "Waiting (group)", number: true, sort: row => row.waiting, text: row => number(row.waiting) },
      { key: "requests", title: "Requests", number: true, sort: row => row.requests, text: row => number(row.requests) },
      { key: "failed", title: "Failed", number: true, sort: row => row.failed, text: row => number(row.failed) },
      { key: "share", title: "Failed share", number: true, sort: failed, text: row => percent(failed(row)) },
      { key: "mean", title: "Mean time", number: true, sort: row => row.mean_us, text: row => time(row.mean_us) },
      { key: "method", title: "Chosen by", text: row => row.method },
    ], "group", { downwards: false, empty: "The configuration has no back end (ProxyPass, BalancerMember)." });
    this.element = el("div", {}, this.table.element);
  }

  show(status) {
    this.table.set(status.back_ends.flatMap(group => group.members.map(member => ({
      ...member, group: group.name, method: group.method, waiting: group.waiting }))));
  }
}
