"use strict";
// Runs before the page is drawn: sets the chosen colours, and says that scripts run.
(() => {
  const root = document.documentElement;
  root.dataset.scripts = "yes";
  try {
    const theme = localStorage.getItem("mehari-documents-theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    // The browser keeps nothing: the system's colours hold.
  }
})();
