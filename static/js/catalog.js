// The page's own words, in the language of the pages, as the server put them into it.

/** @param {string} id @returns {any} */
export function readJson(id) {
  return JSON.parse(document.getElementById(id)?.textContent || "{}");
}

/** @type {Record<string, string>} */
const WORDS = readJson("page-text");

/**
 * @param {string} key
 * @param {Record<string, string | number>} [values] for {placeholders}
 * @returns {string}
 */
export function say(key, values = {}) {
  const text = WORDS[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/**
 * @template {HTMLElement} T
 * @param {string} id
 * @returns {T}
 */
export function part(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page lacks #${id}`);
  return /** @type {T} */ (element);
}
