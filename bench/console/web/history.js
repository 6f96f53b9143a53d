// The page History: the last day by minutes, as the server keeps it.

import { Chart } from "./chart.js";
import { el } from "./elements.js";
import { bytes, duration, number, rate } from "./words.js";

const perSecond = count => `${bytes(Math.round(count))}/s`;

export class HistoryPage {
  constructor({ read }) {
    this.read = read;
    this.requests = new Chart("Requests a second", ["requests", "errors (5xx)"], rate);
    this.traffic = new Chart("Sent", ["bytes"], perSecond, 1024);
    this.workers = new Chart("Workers", ["busy", "idle", "queue"], number);
    this.memory = new Chart("Memory of Perl's processes", ["proportional"], bytes, 1024);
    this.connections = new Chart("Connections", ["open"], number);
    const charts = [this.requests, this.traffic, this.workers, this.memory, this.connections];
    this.element = el("div", {}, el("p", { class: "quiet" }, "One point a minute for at most 24 hours, also while nobody looks. A reload does not end the history; a restart does."),
      el("div", { class: "charts" }, ...charts.map(chart => chart.element)));
    this.read_at = -Infinity;
  }

  async show() {
    if (performance.now() - this.read_at < 5000) return;
    this.read_at = performance.now();
    const { history } = await this.read("history");
    const since = `${duration(Math.max(0, Date.now() / 1000 - history[0].at))} ago`;
    const rates = key => (point, index) => {
      const before = history[index];
      const seconds = Math.max(1, point.at - before.at);
      return (point[key] - before[key]) / seconds;
    };
    const later = history.slice(1);
    const [requests, errors, sent] = ["requests", "server_errors", "bytes"].map(rates);
    this.requests.draw(later.map((point, index) => [requests(point, index), errors(point, index)]), since);
    this.traffic.draw(later.map((point, index) => [sent(point, index)]), since);
    this.workers.draw(history.map(point => [point.busy, point.idle, point.queue]), since);
    this.memory.draw(history.map(point => [point.memory]), since);
    this.connections.draw(history.map(point => [point.connections]), since);
  }
}
