// Keeps the last five minutes of looks, and makes rates and percentiles of the server's counts.

const KEPT = 300;

export class Samples {
  constructor() { this.list = []; this.last = null; this.count = 0; }

  // Takes one answer of api/now.
  add(status) {
    const now = performance.now(), watched = status.watched, before = this.last;
    this.count += 1;
    this.last = { now, watched, machine: status.machine, bytes: status.front.bytes };
    if (!before || watched.counted_ms < before.watched.counted_ms) return;
    const seconds = (now - before.now) / 1000;
    if (seconds <= 0) return;
    const latency = difference(watched.latency_us, before.watched.latency_us);
    const wait = difference(watched.queue_wait_us, before.watched.queue_wait_us);
    const cpu = cpuShares(status.machine.cpu, before.machine.cpu);
    this.list.push({
      at: Date.now(),
      requests: (watched.requests - before.watched.requests) / seconds,
      bytes: (watched.bytes - before.watched.bytes) / seconds,
      errors: (watched.classes[4] - before.watched.classes[4]) / seconds,
      p50: quantile(latency, 0.5), p90: quantile(latency, 0.9), p99: quantile(latency, 0.99),
      wait50: quantile(wait, 0.5), wait99: quantile(wait, 0.99),
      busy: status.pool.busy, idle: status.pool.idle, queue: status.pool.queue,
      cpu, disks: diskRates(status.machine.disks, before.machine.disks, seconds),
      network: networkRates(status.machine.interfaces, before.machine.interfaces, seconds),
    });
    if (this.list.length > KEPT) this.list.shift();
  }

  newest() { return this.list[this.list.length - 1] ?? null; }

  points(of) { return this.list.map(of); }

  since() {
    if (!this.list.length) return "";
    const s = Math.round((Date.now() - this.list[0].at) / 1000);
    return s < 60 ? `${s} s ago` : `${Math.round(s / 60)} min ago`;
  }
}

export function difference(now, before) {
  const old = new Map(before);
  return now.map(([bound, count]) => [bound, count - (old.get(bound) ?? 0)]).filter(([, count]) => count > 0);
}

// The number of microseconds that a share of the requests did not exceed; null without requests.
export function quantile(buckets, share) {
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  let below = 0;
  for (const [bound, count] of buckets) {
    below += count;
    if (below >= Math.ceil(total * share)) return bound;
  }
  return null;
}

function cpuShares(now, before) {
  const more = Object.fromEntries(Object.keys(now).map(key => [key, now[key] - before[key]]));
  const all = Object.values(more).reduce((sum, ticks) => sum + ticks, 0);
  const share = ticks => (all > 0 ? 100 * ticks / all : null);
  return { user: share(more.user + more.nice), system: share(more.system + more.interrupts),
    wait: share(more.wait), stolen: share(more.stolen), idle: share(more.idle) };
}

function diskRates(now, before, seconds) {
  const old = new Map(before.map(disk => [disk.name, disk]));
  return now.filter(disk => old.has(disk.name)).map(disk => ({
    name: disk.name,
    read: (disk.read_bytes - old.get(disk.name).read_bytes) / seconds,
    written: (disk.written_bytes - old.get(disk.name).written_bytes) / seconds,
    busy: Math.min(100, (disk.busy_ms - old.get(disk.name).busy_ms) / seconds / 10),
  }));
}

function networkRates(now, before, seconds) {
  const old = new Map(before.map(one => [one.name, one]));
  return now.filter(one => old.has(one.name)).map(one => ({
    name: one.name, mtu: one.mtu, errors: one.received_errors + one.sent_errors,
    received: (one.received_bytes - old.get(one.name).received_bytes) / seconds,
    sent: (one.sent_bytes - old.get(one.name).sent_bytes) / seconds,
  }));
}
