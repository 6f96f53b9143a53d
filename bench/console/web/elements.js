// Makes elements. A text always becomes a text node, so markup in a URL or a log line stays text.

export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}

export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// Sets a text only if it differs, so that a refresh leaves selections alone.
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// A list of headline figures. `names` maps a key to its title.
export class Figures {
  constructor(names) {
    this.values = new Map();
    this.element = el("dl", { class: "figures" });
    for (const [key, title] of Object.entries(names)) {
      const value = el("dd", {}, "–");
      this.values.set(key, value);
      this.element.append(el("div", {}, el("dt", {}, title), value));
    }
  }
  set(key, text) { say(this.values.get(key), text); }
}

export function pairs(list) {
  return el("dl", { class: "pairs" },
    ...list.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}
