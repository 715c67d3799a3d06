// Answers that are over, kept below the question so that nothing said disappears. Sound that comes late changes them.
import { part, say } from "./catalog.js";

/** @typedef {{value: number, grade: string}} Mark */

export class EarlierAnswers {
  /** @param {string} language of the interview */
  constructor(language) {
    this.language = language;
    /** @type {Map<number, {utterances: import("./transcript.js").Utterances, mark: HTMLElement, words: HTMLElement}>} */
    this.items = new Map();
  }

  /**
   * @param {{turn: number, label: string, question: string, mark: Mark | undefined,
   *   utterances: import("./transcript.js").Utterances}} answer
   */
  add({ turn, label, question, utterances, mark }) {
    if (this.items.has(turn)) return;
    const item = document.createElement("details");
    item.className = "earlier-answer";
    const summary = document.createElement("summary");
    const parts = { utterances, mark: text("span", ""), words: text("p", "") };
    summary.append(text("span", label), text("span", question, this.language), parts.mark);
    item.append(summary, parts.words);
    this.items.set(turn, parts);
    this.mark(turn, mark);
    this.words(turn);
    part("earlier-list").prepend(item);
    part("earlier").hidden = false;
  }

  /** @param {number} turn @returns {import("./transcript.js").Utterances | undefined} */
  utterances(turn) {
    return this.items.get(turn)?.utterances;
  }

  /** Write the words as they are known now. @param {number} turn */
  words(turn) {
    const item = this.items.get(turn);
    if (!item) return;
    const words = item.utterances.text;
    item.words.textContent = words || say("no_words");
    if (words) item.words.lang = this.language;
    else item.words.removeAttribute("lang");
  }

  /** @param {number} turn @param {Mark | undefined} mark */
  mark(turn, mark) {
    const item = this.items.get(turn);
    if (item) item.mark.textContent = mark ? `${mark.value.toFixed(1)} ${mark.grade}` : say("no_score");
  }

  /** Words and score are others than were shown at first. @param {number} turn @param {string} why */
  corrected(turn, why) {
    const words = this.items.get(turn)?.words;
    if (!words) return;
    const note = words.nextElementSibling ?? text("p", "");
    note.className = "corrected";
    note.textContent = why;
    words.after(note);
  }
}

/** @param {string} tag @param {string} content @param {string} [language] @returns {HTMLElement} */
function text(tag, content, language) {
  const element = document.createElement(tag);
  element.textContent = content;
  if (language) element.lang = language;
  return element;
}
