// The feedback panel: one turn at a time, in the order score, weakness, details, follow-up. Lower revs are dropped.
import { part, say } from "./catalog.js";

/** @typedef {{turn: number, rev: number}} Reading */

export class FeedbackPanel {
  /** @param {(text: string) => void} announce for screen readers, whole sentences only */
  constructor(announce) {
    this.announce = announce;
    this.panel = part("feedback");
    this.turn = 0;
    this.rev = 0;
    this.weakness = "";
    /** @type {Set<string>} dimensions and "weakness" that this rev has begun */
    this.begun = new Set();
    /** @type {Map<number, {value: number, grade: string}>} the last final score of each turn */
    this.scores = new Map();
  }

  /** What an older reading left stays, unsettled, until this one replaces it. @param {Reading} event */
  started({ turn, rev }) {
    if (!this.#enter(turn, rev)) return;
    this.#state("provisional");
    part("feedback-status").textContent = say("analysing");
    if (part("score-grade").hidden) part("sheet-summary").textContent = say("analysing");
  }

  /** @param {Reading & {value: number, grade: string, provisional: boolean, source: string, model: string | null}} event */
  score({ turn, rev, value, grade, provisional, source, model }) {
    if (!this.#enter(turn, rev)) return;
    this.#state(provisional ? "provisional" : "final");
    part("score-value").textContent = value.toFixed(1);
    part("score-grade").textContent = grade;
    part("score-grade").hidden = false;
    part("score-note").textContent = provisional ? say("so_far") : "";
    const badge = part("score-source");
    badge.textContent = source === "llm" ? say("source_llm") : say("source_rules");
    badge.title = source === "llm" ? say("source_llm_hint", { model: model || "" }) : say("source_rules_hint");
    badge.hidden = false;
    part("sheet-summary").textContent = `${value.toFixed(1)} ${grade}`;
    if (!provisional) this.scores.set(turn, { value, grade });
  }

  /**
   * Growing text is appended; a replayed one (it has an eid) is the whole part and replaces what grew before.
   * @param {Reading & {eid: number, part: string, text: string, dimension: string | null, value: number | null,
   *   quotes: string[]}} event
   */
  delta({ eid, turn, rev, part: kind, text, dimension, value, quotes }) {
    if (!this.#enter(turn, rev)) return;
    if (eid) this.begun.delete(dimension || kind);
    if (kind === "weakness") this.#weakness(text);
    else if (dimension) this.#detail(dimension, text, value, quotes);
  }

  /** @param {Reading & {outcome: string, provisional: boolean, low_confidence: boolean, flags: string[]}} event */
  done({ turn, rev, outcome, provisional, low_confidence: unclear, flags }) {
    if (!this.#enter(turn, rev)) return;
    part("feedback-status").textContent = "";
    this.#forgetUntouched();
    this.#note(outcome, unclear, flags);
    if (!provisional) this.#state(outcome === "unscored" ? "unscored" : "final");
    const score = this.scores.get(turn);
    if (!provisional && score) this.announce(say("announce_score", { ...score, weakness: this.weakness }));
  }

  /** The speaker went on: what was shown does not stand. @param {Reading} event */
  withdrawn({ turn, rev }) {
    if (turn !== this.turn || rev < this.rev) return;
    this.#blank();
    this.rev = rev + 1; // what still arrives of the withdrawn one is dropped
    part("feedback-status").textContent = say("withdrawn");
  }

  /** @param {{turn: number, text: string}} event */
  followUp({ turn, text }) {
    if (turn !== this.turn) return;
    part("follow-up-text").textContent = text;
    part("follow-up").dataset.filled = "";
  }

  /** The sheet on a phone; on a wide page the panel is always there. @param {boolean} open */
  open(open) {
    this.panel.dataset.open = String(open);
    part("sheet-toggle").setAttribute("aria-expanded", String(open));
  }

  /** @param {number} turn @param {number} rev @returns {boolean} whether this reading is not an older one */
  #enter(turn, rev) {
    if (turn < this.turn || (turn === this.turn && rev < this.rev)) return false;
    if (turn > this.turn) {
      this.#blank();
      this.turn = turn;
    }
    if (rev !== this.rev || turn !== this.turn) this.begun.clear();
    this.rev = rev;
    return true;
  }

  /** @param {string} state */
  #state(state) {
    this.panel.dataset.state = state;
  }

  #blank() {
    this.#state("empty");
    this.begun.clear();
    this.rev = 0;
    this.weakness = "";
    part("score-value").textContent = "–";
    part("score-grade").hidden = true;
    part("score-source").hidden = true;
    part("score-note").textContent = "";
    part("sheet-summary").textContent = "";
    part("feedback-note").textContent = "";
    part("feedback-status").textContent = "";
    part("weakness-text").textContent = "";
    delete part("weakness").dataset.filled;
    part("follow-up-text").textContent = "";
    delete part("follow-up").dataset.filled;
    for (const row of this.#rows()) blankRow(row);
  }

  /** @returns {HTMLElement[]} */
  #rows() {
    return [...this.panel.querySelectorAll("[data-dimension]")].map((row) => /** @type {HTMLElement} */ (row));
  }

  /** @param {string} text */
  #weakness(text) {
    this.weakness = this.begun.has("weakness") ? this.weakness + text : text;
    this.begun.add("weakness");
    part("weakness-text").textContent = this.weakness;
    part("weakness").dataset.filled = "";
  }

  /** @param {string} dimension @param {string} text @param {number | null} value @param {string[]} quotes */
  #detail(dimension, text, value, quotes) {
    const row = this.#rows().find((one) => one.dataset.dimension === dimension);
    if (!row) return;
    if (!this.begun.has(dimension)) {
      this.begun.add(dimension);
      blankRow(row);
    }
    row.dataset.filled = "";
    piece(row, "comment").textContent += text;
    if (value !== null) showValue(row, value);
    for (const quote of quotes || []) addQuote(row, quote);
  }

  /** What an older rev said and this one did not repeat no longer holds. */
  #forgetUntouched() {
    for (const row of this.#rows()) {
      if (!this.begun.has(row.dataset.dimension || "")) blankRow(row);
    }
    if (!this.begun.has("weakness")) {
      this.weakness = "";
      part("weakness-text").textContent = "";
      delete part("weakness").dataset.filled;
    }
  }

  /** @param {string} outcome @param {boolean} unclear @param {string[]} flags */
  #note(outcome, unclear, flags) {
    const notes = [];
    if (outcome === "unscored") notes.push(say("unscored"));
    if (outcome === "degraded") notes.push(say("degraded"));
    if (unclear || flags.includes("low_confidence")) notes.push(say("low_confidence"));
    else if (flags.includes("needs_review")) notes.push(say("needs_review"));
    part("feedback-note").textContent = notes.join(" ");
  }
}

/** @param {HTMLElement} row @param {string} name @returns {HTMLElement} */
function piece(row, name) {
  return /** @type {HTMLElement} */ (row.querySelector(`.${name}`));
}

/** @param {HTMLElement} row */
function blankRow(row) {
  delete row.dataset.filled;
  piece(row, "comment").textContent = "";
  piece(row, "value").textContent = "";
  piece(row, "quotes").replaceChildren();
  showBar(row, 0);
}

/** @param {HTMLElement} row @param {number} value */
function showValue(row, value) {
  piece(row, "value").textContent = value.toFixed(1);
  showBar(row, value);
}

/** @param {HTMLElement} row @param {number} value of 10 */
function showBar(row, value) {
  row.querySelector(".score-bar-fill")?.setAttribute("width", String(value * 10));
}

/** @param {HTMLElement} row @param {string} quote */
function addQuote(row, quote) {
  const element = document.createElement("q");
  element.textContent = quote;
  piece(row, "quotes").append(element);
}
