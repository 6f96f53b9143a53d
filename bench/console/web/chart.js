// Draws lines over time. The newest values also stand as text in the legend.

import { el, svg, say } from "./elements.js";

const CLASSES = ["one", "two", "three"];
const WIDTH = 600, HEIGHT = 120;

export class Chart {
  // `lines`: names of the lines. `words`: writes a value.
  // `base`: 1024 for bytes, so that the axis ends at a round size.
  constructor(title, lines, words, base = 1e300) {
    this.words = words;
    this.base = base;
    this.names = lines;
    this.paths = lines.map((_, index) => svg("path", { class: CLASSES[index] }));
    this.legends = lines.map((name, index) => el("span", { class: CLASSES[index] }, name));
    this.top = el("span", {}, "");
    this.left = el("span", {}, "");
    const grid = [0, 0.5, 1].map(share => svg("line", {
      class: "grid", x1: 0, x2: WIDTH, y1: share * HEIGHT, y2: share * HEIGHT }));
    this.picture = svg("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: "none", role: "img", "aria-label": title }, ...grid, ...this.paths);
    this.element = el("section", { class: "panel" }, el("h2", {}, title),
      el("p", { class: "legend" }, ...this.legends), el("div", { class: "axis" }, this.top),
      this.picture, el("div", { class: "axis" }, this.left, el("span", {}, "now")));
  }

  // `points`: arrays of values by line, the oldest first; null leaves a gap.
  draw(points, since) {
    const known = points.flat().filter(value => value !== null && value !== undefined);
    const highest = nice(Math.max(...known, 0), this.base);
    say(this.top, this.words(highest));
    say(this.left, since);
    const step = WIDTH / Math.max(points.length - 1, 1);
    this.paths.forEach((path, line) => {
      let text = "", pen = "M";
      points.forEach((values, index) => {
        const value = values[line];
        if (value === null || value === undefined) { pen = "M"; return; }
        text += `${pen}${(index * step).toFixed(1)} ${(HEIGHT - value / highest * (HEIGHT - 2) - 1).toFixed(1)}`;
        pen = "L";
      });
      path.setAttribute("d", text);
      const values = points.map(point => point[line]).filter(value => value !== null && value !== undefined);
      const last = values.length ? this.words(values[values.length - 1]) : "–";
      say(this.legends[line], `${this.names[line]} ${last}`);
    });
  }
}

// The next 1, 2 or 5 with zeros at or above a value.
function nice(value, base) {
  if (!(value > 0)) return 1;
  if (value >= base) return base * nice(value / base, base);
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map(step => step * power).find(limit => limit >= value);
}
