// The page Machine: processors, run queue, pressure, memory, swap, disks, network, and all
// processes by name.

import { Chart } from "./chart.js";
import { el, Figures } from "./elements.js";
import { Table } from "./table.js";
import { bytes, duration, number, percent, time } from "./words.js";

const perSecond = count => `${bytes(Math.round(count))}/s`;

export class MachinePage {
  constructor({ read, samples }) {
    this.read = read;
    this.samples = samples;
    this.figures = new Figures({ load: "Load (1, 5, 15 min)", run: "Runnable tasks", cpu: "Processors busy",
      cpu_pressure: "Waiting for a processor", memory: "Memory available", memory_pressure: "Waiting for memory",
      io_pressure: "Waiting for a disk", swap: "Swap used", up: "Up" });
    this.cpu = new Chart("Processors", ["user", "system", "waiting for disks"], percent);
    this.disk = new Chart("Disks", ["read", "written"], perSecond, 1024);
    this.network = new Chart("Network", ["received", "sent"], perSecond, 1024);
    const room = row => row.room;
    this.systems = new Table("File systems", [
      { key: "at", title: "Mounted at", text: row => row.at },
      { key: "device", title: "Device", text: row => row.device },
      { key: "kind", title: "Kind", text: row => row.kind },
      { key: "total", title: "Size", number: true, sort: row => room(row)?.total, text: row => bytes(room(row)?.total) },
      { key: "used", title: "Used", number: true, sort: row => room(row)?.used, text: row => bytes(room(row)?.used) },
      { key: "available", title: "Available", number: true, sort: row => room(row)?.available, text: row => bytes(room(row)?.available) },
      { key: "full", title: "Full", number: true, sort: full, text: row => percent(full(row)) },
      { key: "files", title: "Files", number: true, sort: row => room(row)?.files_used, text: row => number(room(row)?.files_used) },
      { key: "most", title: "Files at most", number: true, sort: row => room(row)?.files, text: row => number(room(row)?.files || undefined) },
    ], "full", { search: false });
    this.links = new Table("Network interfaces", [
      { key: "name", title: "Interface", text: row => row.name },
      { key: "mtu", title: "MTU", number: true, sort: row => row.mtu, text: row => number(row.mtu) },
      { key: "received", title: "Received", number: true, sort: row => row.received, text: row => perSecond(row.received) },
      { key: "sent", title: "Sent", number: true, sort: row => row.sent, text: row => perSecond(row.sent) },
      { key: "errors", title: "Errors", number: true, sort: row => row.errors, text: row => number(row.errors) },
    ], "received", { search: false, empty: "Two looks are needed." });
    this.processes = new Table("Processes", [
      { key: "pid", title: "Process", number: true, sort: row => row.pid, text: row => row.pid },
      { key: "user", title: "User", text: row => row.user },
      { key: "size", title: "Size", number: true, sort: row => row.virtual_size, text: row => bytes(row.virtual_size) },
      { key: "rss", title: "RSS", number: true, sort: row => row.resident, text: row => bytes(row.resident) },
      { key: "share", title: "Share", number: true, sort: row => row.shared, text: row => bytes(row.shared) },
      { key: "terminal", title: "TTY", text: row => row.terminal },
      { key: "state", title: "State", text: row => row.state },
      { key: "cpu", title: "CPU", number: true, sort: row => row.cpu_ms, text: row => time(row.cpu_ms * 1000) },
      { key: "parent", title: "Parent", number: true, sort: row => row.parent, text: row => row.parent },
      { key: "name", title: "Name", text: row => row.name },
      { key: "command", title: "Command", text: row => row.command },
    ], "rss");
    this.element = el("div", {}, this.figures.element,
      el("div", { class: "charts" }, this.cpu.element, this.disk.element, this.network.element),
      this.processes.element, this.systems.element, this.links.element);
    this.read_at = -Infinity;
  }

  async show({ machine }) {
    const newest = this.samples.newest(), since = this.samples.since();
    const pressure = what => (machine.pressure[what] ? percent(machine.pressure[what].some) : "–");
    this.figures.set("load", machine.load.map(one => one.toFixed(2)).join(", "));
    this.figures.set("run", `${machine.runnable} of ${machine.tasks}`);
    this.figures.set("cpu", newest?.cpu.idle == null ? "–" : `${percent(100 - newest.cpu.idle)} of ${machine.cores}`);
    for (const what of ["cpu", "memory", "io"]) this.figures.set(`${what}_pressure`, pressure(what));
    const { memory } = machine;
    this.figures.set("memory", `${bytes(memory.available)} of ${bytes(memory.total)}`);
    this.figures.set("swap", memory.swap_total ? `${bytes(memory.swap_total - memory.swap_free)} of ${bytes(memory.swap_total)}` : "none");
    this.figures.set("up", duration(machine.up_s));
    this.cpu.draw(this.samples.points(({ cpu }) => [cpu.user, cpu.system, cpu.wait]), since);
    const sum = (list, key) => list.reduce((all, one) => all + one[key], 0);
    this.disk.draw(this.samples.points(({ disks }) => [sum(disks, "read"), sum(disks, "written")]), since);
    this.network.draw(this.samples.points(({ network }) => [sum(network, "received"), sum(network, "sent")]), since);
    this.links.set(newest?.network ?? []);
    if (performance.now() - this.read_at < 3000) return;
    this.read_at = performance.now();
    const told = await this.read("machine");
    this.processes.set(told.processes);
    this.systems.set(told.file_systems);
  }
}

function full(row) {
  return row.room ? 100 * row.room.used / Math.max(1, row.room.used + row.room.available) : undefined;
}
