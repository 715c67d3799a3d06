// Applies the kept theme before the first paint (a classic script in <head>), then serves the toggle.
(() => {
  "use strict";
  const KEY = "viva.theme";
  const ORDER = ["auto", "light", "dark"];
  const root = document.documentElement;

  /** @returns {string} one of ORDER */
  function kept() {
    try {
      const value = localStorage.getItem(KEY) || "auto";
      return ORDER.includes(value) ? value : "auto";
    } catch {
      return "auto"; // storage may be blocked; the system's theme then rules
    }
  }

  /** @param {string} theme */
  function apply(theme) {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
  }

  /** @param {HTMLElement} button @param {string} theme */
  function label(button, theme) {
    const text = button.dataset[theme] || theme;
    button.setAttribute("aria-label", text);
    button.title = text;
    button.dataset.now = theme;
  }

  apply(kept());
  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme-toggle");
    if (!button) return;
    button.hidden = false;
    label(button, kept());
    button.addEventListener("click", () => {
      const next = ORDER[(ORDER.indexOf(button.dataset.now || "auto") + 1) % ORDER.length];
      try {
        localStorage.setItem(KEY, next);
      } catch {
        // it then lasts for this page only
      }
      apply(next);
      label(button, next);
    });
  });
})();
