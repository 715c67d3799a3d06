// The words of one answer as they are heard: settled, guessed, unclear. Only textContent, never markup.
import { say } from "./catalog.js";

/**
 * @typedef {{text: string, start_s: number, end_s: number, confidence: number, heard?: string}} Word
 * @typedef {{text: string, unclear: boolean, heard: string}} Run `heard` is what it was corrected from
 * @typedef {{text: string, final: boolean, words: Word[], unclear: boolean, stable: number, startS: number}} Utterance
 * @typedef {{atS: number, seconds: number}} Missing sound that was lost on its way
 */

const UNCLEAR = 0.5;
const FAR = 40; // characters: a clear word that is found so far on is another one
const LETTER = /[\p{Script=Latin}\p{N}]/u;
const TYPED = Number.MAX_SAFE_INTEGER; // after every utterance

/**
 * Cut a text into runs that are clear, unclear or corrected, by finding each word in it in order.
 * @param {string} text @param {Word[]} words
 * @returns {Run[]}
 */
export function runs(text, words) {
  /** @type {Run[]} */
  const found = [];
  let at = 0; // behind the last word that was found
  let told = 0;
  for (const word of words) {
    const spoken = word.text.trim();
    const start = placeOf(spoken, text, at);
    const heard = word.heard ?? "";
    const unclear = word.confidence < UNCLEAR;
    if (start < 0 || (!unclear && !heard && start > at + FAR)) continue;
    at = start + spoken.length;
    if (!unclear && !heard) continue;
    if (start > told) found.push({ text: text.slice(told, start), unclear: false, heard: "" });
    found.push({ text: spoken, unclear, heard });
    told = at;
  }
  if (told < text.length) found.push({ text: text.slice(told), unclear: false, heard: "" });
  return found;
}

/**
 * Where a word stands in a text, as a word of its own and no part of a longer one; -1 for nowhere.
 * @param {string} word @param {string} text @param {number} from
 */
function placeOf(word, text, from) {
  for (let at = word ? text.indexOf(word, from) : -1; at >= 0; at = text.indexOf(word, at + 1)) {
    const end = at + word.length;
    if (!areOne(text[at - 1], word[0]) && !areOne(word[word.length - 1], text[end])) return at;
  }
  return -1;
}

/** @param {string | undefined} one @param {string | undefined} next @returns {boolean} letters of one word */
function areOne(one = "", next = "") {
  return LETTER.test(one) && LETTER.test(next);
}

/** What was said, typed or lost in one answer. */
export class Utterances {
  constructor() {
    /** @type {Map<number, Utterance>} */
    this.said = new Map();
    /** @type {Missing[]} */
    this.missing = [];
  }

  /** A guess never replaces what is settled. @param {{utterance: number, text: string, stable_chars: number}} event */
  partial({ utterance, text, stable_chars: stable }) {
    const known = this.said.get(utterance);
    if (known?.final) return;
    const guess = text.trimStart();
    const settling = Math.max(0, stable - (text.length - guess.length));
    const startS = known?.startS ?? this.missing.at(-1)?.atS ?? 0; // what was lost before it was first heard
    this.said.set(utterance, { text: guess, final: false, words: [], unclear: false, stable: settling, startS });
  }

  /** @param {{utterance: number, text: string, words: Word[], low_confidence: boolean, start_s: number}} event */
  final({ utterance, text: heard, words, low_confidence: unclear, start_s: startS }) {
    const text = heard.trim();
    this.said.set(utterance, { text, final: true, words, unclear, stable: text.length, startS });
  }

  /** What was typed follows what was said. @param {string} text */
  typed(text) {
    this.said.set(TYPED, { text, final: true, words: [], unclear: false, stable: text.length, startS: Infinity });
  }

  /** It came too late and is no part of the answer. */
  untyped() {
    this.said.delete(TYPED);
  }

  /** @param {{at_s: number, seconds: number}} event */
  lost({ at_s: atS, seconds }) {
    this.missing.push({ atS, seconds });
    this.missing.sort((a, b) => a.atS - b.atS);
  }

  /** @returns {(Utterance | Missing)[]} in the order of the sound */
  get ordered() {
    const said = [...this.said.entries()].sort(([a], [b]) => a - b).map(([, one]) => one).filter(({ text }) => text);
    const missing = [...this.missing];
    /** @type {(Utterance | Missing)[]} */
    const found = [];
    for (const one of said) {
      while (missing.length && missing[0].atS <= one.startS) found.push(/** @type {Missing} */ (missing.shift()));
      found.push(one);
    }
    return [...found, ...missing];
  }

  get text() {
    const parts = this.ordered.map((one) => ("text" in one ? one.text.trim() : lostWords(one)));
    return parts.filter(Boolean).reduce((before, after) => before + joint(before, after) + after, "");
  }
}

const WIDE = /[\u2e80-\u9fff\uff00-\uffef]/;

/**
 * Between two utterances: a space, but none between Chinese characters or marks.
 * @param {string} before @param {string} after
 */
export function joint(before, after) {
  return !before || (WIDE.test(before.at(-1) ?? "") && WIDE.test(after[0] ?? "")) ? "" : " ";
}

/** Shows the words of the question on the table. */
export class Transcript {
  /** @param {HTMLElement} box */
  constructor(box) {
    this.box = box;
    this.utterances = new Utterances();
    this.placeholder = /** @type {HTMLElement} */ (box.querySelector(".words-placeholder"));
  }

  /** @returns {Utterances} those of the answer that is over */
  clear() {
    const { utterances } = this;
    this.utterances = new Utterances();
    this.render();
    return utterances;
  }

  get text() {
    return this.utterances.text;
  }

  render() {
    const scroller = this.box.closest(".conversation") || this.box;
    const atEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 80;
    /** @type {Node[]} */
    const nodes = [];
    for (const one of this.utterances.ordered) {
      const part = "text" in one ? spans(one) : [span(lostWords(one), "missing")];
      nodes.push(document.createTextNode(joint(nodes.at(-1)?.textContent ?? "", part[0].textContent ?? "")), ...part);
    }
    this.placeholder.hidden = nodes.length > 0;
    this.box.replaceChildren(this.placeholder, ...nodes);
    if (atEnd) scroller.scrollTop = scroller.scrollHeight;
  }
}

/** @param {Missing} missing @returns {string} */
function lostWords({ seconds }) {
  return say("audio_missing", { seconds: seconds.toFixed(1) });
}

/** @param {Utterance} utterance @returns {HTMLElement[]} */
function spans({ text, final, words, unclear, stable }) {
  if (!final) return [span(text.slice(0, stable), "settling"), span(text.slice(stable), "guess")];
  if (unclear) return [span(text, "unclear")];
  return runs(text, words).map((run) => {
    if (run.heard) return putRight(run);
    return span(run.text, run.unclear ? "unclear" : "settled");
  });
}

/** A name that was put right by its sound says what was heard. @param {Run} run @returns {HTMLElement} */
function putRight({ text, heard }) {
  const element = span(text, "put-right");
  element.title = say("put_right_word", { heard });
  return element;
}

/** @param {string} text @param {string} kind @returns {HTMLElement} */
function span(text, kind) {
  const element = document.createElement("span");
  element.className = kind;
  element.textContent = text;
  if (kind === "unclear") element.title = say("unclear_word");
  return element;
}
