// The words of one answer as they are heard: settled, guessed, unclear. Only textContent, never markup.
import { say } from "./catalog.js";

/**
 * @typedef {{text: string, start_s: number, end_s: number, confidence: number}} Word
 * @typedef {{text: string, final: boolean, words: Word[], unclear: boolean, stable: number}} Utterance
 */

const UNCLEAR = 0.5;
const TYPED = Number.MAX_SAFE_INTEGER; // after every utterance

/**
 * Cut a text into runs that are clear or not, by finding each word in it in order.
 * @param {string} text @param {Word[]} words
 * @returns {{text: string, unclear: boolean}[]}
 */
export function runs(text, words) {
  /** @type {{text: string, unclear: boolean}[]} */
  const found = [];
  let at = 0;
  for (const word of words) {
    const spoken = word.text.trim();
    const start = spoken ? text.indexOf(spoken, at) : -1;
    if (start < 0 || word.confidence >= UNCLEAR) continue;
    if (start > at) found.push({ text: text.slice(at, start), unclear: false });
    found.push({ text: spoken, unclear: true });
    at = start + spoken.length;
  }
  if (at < text.length) found.push({ text: text.slice(at), unclear: false });
  return found;
}

export class Transcript {
  /** @param {HTMLElement} box @param {string} language of the interview */
  constructor(box, language) {
    this.box = box;
    this.joint = language.startsWith("zh") ? "" : " ";
    /** @type {Map<number, Utterance>} */
    this.utterances = new Map();
    this.placeholder = /** @type {HTMLElement} */ (box.querySelector(".words-placeholder"));
  }

  clear() {
    this.utterances.clear();
    this.#render();
  }

  /** A guess never replaces what is settled. @param {{utterance: number, text: string, stable_chars: number}} event */
  partial({ utterance, text, stable_chars: stable }) {
    if (this.utterances.get(utterance)?.final) return;
    const guess = text.trimStart();
    const settling = Math.max(0, stable - (text.length - guess.length));
    this.utterances.set(utterance, { text: guess, final: false, words: [], unclear: false, stable: settling });
    this.#render();
  }

  /** @param {{utterance: number, text: string, words: Word[], low_confidence: boolean}} event */
  final({ utterance, text: heard, words, low_confidence: unclear }) {
    const text = heard.trim();
    this.utterances.set(utterance, { text, final: true, words, unclear, stable: text.length });
    this.#render();
  }

  /** What was typed follows what was said. @param {string} text */
  typed(text) {
    this.utterances.set(TYPED, { text, final: true, words: [], unclear: false, stable: text.length });
    this.#render();
  }

  /** It came too late and is no part of the answer. */
  untyped() {
    this.utterances.delete(TYPED);
    this.#render();
  }

  get text() {
    return this.#ordered().map(({ text }) => text.trim()).filter(Boolean).join(this.joint);
  }

  #ordered() {
    return [...this.utterances.entries()].sort(([a], [b]) => a - b).map(([, utterance]) => utterance);
  }

  #render() {
    const scroller = this.box.closest(".conversation") || this.box;
    const atEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 80;
    /** @type {Node[]} */
    const nodes = [];
    for (const utterance of this.#ordered()) {
      if (!utterance.text) continue;
      if (nodes.length && this.joint) nodes.push(document.createTextNode(this.joint));
      nodes.push(...spans(utterance));
    }
    this.placeholder.hidden = nodes.length > 0;
    this.box.replaceChildren(this.placeholder, ...nodes);
    if (atEnd) scroller.scrollTop = scroller.scrollHeight;
  }
}

/** @param {Utterance} utterance @returns {HTMLElement[]} */
function spans({ text, final, words, unclear, stable }) {
  if (!final) return [span(text.slice(0, stable), "settling"), span(text.slice(stable), "guess")];
  if (unclear) return [span(text, "unclear")];
  return runs(text, words).map((run) => span(run.text, run.unclear ? "unclear" : "settled"));
}

/** @param {string} text @param {string} kind @returns {HTMLElement} */
function span(text, kind) {
  const element = document.createElement("span");
  element.className = kind;
  element.textContent = text;
  if (kind === "unclear") element.title = say("unclear_word");
  return element;
}
