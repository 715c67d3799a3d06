// Answers that are over, kept below the question so that nothing said disappears.
import { part, say } from "./catalog.js";

export class EarlierAnswers {
  constructor() {
    /** @type {Map<number, HTMLElement>} */
    this.items = new Map();
  }

  /**
   * @param {{turn: number, label: string, question: string, words: string,
   *   score: {value: number, grade: string} | undefined, language: string}} answer
   */
  add({ turn, label, question, words, score, language }) {
    if (this.items.has(turn)) return;
    const item = document.createElement("details");
    item.className = "earlier-answer";
    const summary = document.createElement("summary");
    summary.append(text("span", label), text("span", question, language));
    summary.append(text("span", score ? `${score.value.toFixed(1)} ${score.grade}` : say("no_score")));
    item.append(summary, text("p", words || say("no_words"), words ? language : undefined));
    this.items.set(turn, item);
    part("earlier-list").prepend(item);
    part("earlier").hidden = false;
  }
}

/** @param {string} tag @param {string} content @param {string} [language] @returns {HTMLElement} */
function text(tag, content, language) {
  const element = document.createElement(tag);
  element.textContent = content;
  if (language) element.lang = language;
  return element;
}
