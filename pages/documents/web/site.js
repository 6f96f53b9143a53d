"use strict";
// Search, colours and navigation of the documents.
(() => {
  const root = document.documentElement;
  const byId = (name) => document.getElementById(name);
  const make = (name, text, kind) => {
    const element = document.createElement(name);
    if (text) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };

  // Colours: the system's, light or dark.
  const THEMES = ["system", "light", "dark"];
  const showTheme = () => { byId("theme-name").textContent = root.dataset.theme || "system"; };
  byId("theme").addEventListener("click", () => {
    const now = THEMES.indexOf(root.dataset.theme || "system");
    const next = THEMES[(now + 1) % THEMES.length];
    if (next === "system") delete root.dataset.theme; else root.dataset.theme = next;
    try { localStorage.setItem("mehari-documents-theme", next); } catch { /* kept for this page */ }
    showTheme();
  });
  showTheme();

  // The navigation on a narrow screen.
  const contents = byId("contents");
  const navigation = byId("navigation");
  const openNavigation = (open) => {
    contents.setAttribute("aria-expanded", String(open));
    navigation.classList.toggle("open", open);
    showCurrent();
  };
  const current = navigation.querySelector("[aria-current]");
  const showCurrent = () => {
    if (current) navigation.scrollTop = current.offsetTop - navigation.clientHeight / 3;
  };
  contents.addEventListener("click", () => {
    const open = contents.getAttribute("aria-expanded") !== "true";
    openNavigation(open);
    if (open) (current ?? navigation.querySelector("a")).focus({ preventScroll: true });
  });
  navigation.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && navigation.classList.contains("open")) {
      openNavigation(false);
      contents.focus();
    }
  });
  showCurrent();

  // Boxes that scroll can be reached by the keyboard.
  const boxes = document.querySelectorAll(".scroll, pre");
  const reach = (box) => {
    if (box.scrollWidth <= box.clientWidth) {
      for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
      return;
    }
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", box.matches("pre") ? "Code" : "Table");
  };
  const watcher = new ResizeObserver((seen) => seen.forEach((one) => reach(one.target)));
  boxes.forEach((box) => watcher.observe(box));

  // Search.
  const MOST = 40;
  const input = byId("search");
  const results = byId("results");
  const found = byId("found");
  let entries = null;

  const allEntries = () => {
    entries ??= SEARCH_INDEX.flatMap(([path, page, list]) => list.map(([anchor, title, text, row]) => ({
      link: root.dataset.root + path + "#" + anchor,
      page, title, text, row,
      low: { page: page.toLowerCase(), title: title.toLowerCase(), text: text.toLowerCase() },
    })));
    return entries;
  };

  // The points of an entry; 0 if a word is missing.
  const points = (entry, words, whole) => {
    let sum = 0;
    for (const word of words) {
      const at = entry.low.title.indexOf(word);
      if (at >= 0) sum += at === 0 ? 30 : /[a-z0-9]/.test(entry.low.title[at - 1]) ? 12 : 20;
      else if (entry.low.page.includes(word)) sum += 6;
      else if (!entry.low.text.includes(word)) return 0;
      sum += Math.min(entry.low.text.split(word).length, 6);
    }
    if (entry.low.title === whole) sum += 100;
    // What holds now comes before what has changed.
    return entry.page === "Changelog" ? sum / 3 : sum + (entry.row ? 1 : 0);
  };

  // The text around the first word that the text has; the words are marked.
  const excerpt = (entry, words) => {
    const line = make("span", "", "excerpt");
    const places = words.map((word) => entry.low.text.indexOf(word)).filter((at) => at >= 0);
    const first = places.length ? Math.min(...places) : 0;
    const start = first < 50 ? 0 : entry.text.lastIndexOf(" ", first - 30) + 1;
    const text = entry.text.slice(start, start + 160);
    if (start > 0) line.append("... ");
    let at = 0;
    while (at < text.length) {
      const low = text.toLowerCase();
      const next = words.map((word) => [low.indexOf(word, at), word]).filter(([place]) => place >= 0)
        .sort((one, other) => one[0] - other[0])[0];
      if (!next) break;
      line.append(text.slice(at, next[0]), make("mark", text.substr(next[0], next[1].length)));
      at = next[0] + next[1].length;
    }
    line.append(text.slice(at));
    return line;
  };

  const close = () => {
    results.hidden = true;
    results.replaceChildren();
  };

  const look = () => {
    const whole = input.value.trim().toLowerCase().replace(/\s+/g, " ");
    if (!whole) {
      close();
      found.textContent = "";
      return;
    }
    const words = whole.split(" ");
    const all = allEntries().map((entry) => [points(entry, words, whole), entry])
      .filter(([sum]) => sum > 0).sort((one, other) => other[0] - one[0]);
    const list = make("ul");
    for (const [, entry] of all.slice(0, MOST)) {
      const link = make("a");
      link.href = entry.link;
      link.append(make("b", entry.title));
      if (entry.page !== entry.title) link.append(make("span", entry.page, "where"));
      if (entry.text) link.append(excerpt(entry, words));
      const item = make("li");
      item.append(link);
      list.append(item);
    }
    const count = all.length > MOST ? `The best ${MOST} of ${all.length} results`
      : all.length === 1 ? "1 result" : all.length ? `${all.length} results` : "";
    const said = count || `No document has all of: ${whole}`;
    results.replaceChildren(make("p", said, "count"), ...(all.length ? [list] : []));
    results.hidden = false;
    results.scrollTop = 0;
    found.textContent = said;
  };

  const links = () => [...results.querySelectorAll("a")];
  input.addEventListener("input", look);
  input.addEventListener("focus", () => { if (input.value && results.hidden) look(); });
  input.addEventListener("keydown", (event) => {
    const first = links()[0];
    if (event.key === "ArrowDown" && first) {
      event.preventDefault();
      first.focus();
    } else if (event.key === "Enter" && first) {
      event.preventDefault();
      first.click();
    } else if (event.key === "Escape") {
      input.value = "";
      look();
    }
  });
  results.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      const all = links();
      const next = all.indexOf(document.activeElement) + step;
      if (next < 0) input.focus(); else all[Math.min(next, all.length - 1)].focus();
    } else if (event.key === "Escape") {
      input.focus();
      close();
    }
  });
  results.addEventListener("click", (event) => { if (event.target.closest("a")) close(); });
  document.addEventListener("click", (event) => {
    if (!event.target.closest(".search")) close();
    if (event.target.closest("#navigation a")) openNavigation(false);
  });
  document.addEventListener("keydown", (event) => {
    const writes = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key === "/" && !writes && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      input.focus();
      input.select();
    }
  });

  // `mehari docs WORD` opens a page with the search filled in.
  const asked = new URLSearchParams(location.search).get("q");
  if (asked) {
    input.value = asked;
    input.focus();
    look();
  }
})();
