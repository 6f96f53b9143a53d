// The page Where: requests, time, percentiles, bytes, errors and cache hits of each place.

import { el, say } from "./elements.js";
import { Table } from "./table.js";
import { bytes, number, percent, time } from "./words.js";

const PAUSE = 5000; // the server writes the counts of each place for every look

export class WherePage {
  constructor({ read }) {
    this.read = read;
    const count = (key, title) => ({ key, title, number: true, sort: row => row[key], text: row => number(row[key]) });
    const took = (key, title) => ({ key, title, number: true, sort: row => row[key], text: row => time(row[key]) });
    this.table = new Table("Places", [
      { key: "path", title: "Place", text: row => row.path },
      { key: "host", title: "Host", text: row => row.host },
      count("requests", "Requests"),
      { key: "share", title: "Share of time", number: true, sort: row => row.share, text: row => percent(row.share) },
      took("took_us", "Time"), took("mean", "Mean"), took("p50_us", "p50"), took("p99_us", "p99"), took("wait", "Wait for a worker"),
      { key: "bytes", title: "Bytes", number: true, sort: row => row.bytes, text: row => bytes(row.bytes) },
      count("server_errors", "Errors (5xx)"), count("client_errors", "Refused (4xx)"), count("cache_hits", "Cache hits"),
    ], "took_us", { empty: "No request has ended since the console began to look." });
    this.since = el("p", { class: "quiet" });
    this.element = el("div", {}, this.since, this.table.element);
    this.read_at = -Infinity;
  }

  async show({ watched }) {
    const s = Math.round(watched.counted_ms / 1000);
    say(this.since, `Counted for ${s < 120 ? `${s} seconds` : `${Math.round(s / 60)} minutes`}: the server counts places while somebody looks. A place is a path without its query.`);
    if (performance.now() - this.read_at < PAUSE) return;
    this.read_at = performance.now();
    const { places } = await this.read("places");
    const all = places.reduce((sum, place) => sum + place.took_us, 0);
    this.table.hide("host", places.every(place => !place.host));
    this.table.set(places.map(place => ({ ...place, mean: place.took_us / place.requests,
      wait: place.queued_us / place.requests, share: all ? 100 * place.took_us / all : 0 })));
  }
}
