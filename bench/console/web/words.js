// Writes figures as words: sizes, times, rates. Every figure of the pages passes here.

// A new format for each number would take more time than everything else of a table.
const FORMATS = [0, 1].map(digits => new Intl.NumberFormat("en", { maximumFractionDigits: digits, minimumFractionDigits: digits }));
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(count) {
  if (count === null || count === undefined) return "–";
  let unit = 0;
  while (count >= 1024 && unit < UNITS.length - 1) { count /= 1024; unit += 1; }
  return `${unit === 0 ? count : count.toFixed(count < 10 ? 2 : 1)} ${UNITS[unit]}`;
}

export function number(count, digits = 0) {
  if (count === null || count === undefined || Number.isNaN(count)) return "–";
  return FORMATS[digits].format(count);
}

export function rate(count) {
  return number(count, count > 0 && count < 10 ? 1 : 0);
}

export function percent(share) {
  return Number.isFinite(share) ? `${share.toFixed(1)} %` : "–";
}

// Microseconds.
export function time(us) {
  if (us === null || us === undefined) return "–";
  if (us < 1000) return `${Math.round(us)} µs`;
  if (us < 1e6) return `${(us / 1000).toFixed(us < 1e4 ? 2 : 0)} ms`;
  return duration(us / 1e6);
}

// Seconds.
export function duration(s) {
  if (s < 60) return `${s.toFixed(s < 10 ? 1 : 0)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor(s % 86400 / 3600)} h`;
}
