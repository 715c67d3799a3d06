// A typed answer: the text field, its draft kept for a reload, its counter.
import { part } from "./catalog.js";

const DRAFT_KEY = "viva.draft";

export class Typing {
  /** @param {string} interview @param {(text: string) => void} send @param {() => void} begun the field needs room on a phone */
  constructor(interview, send, begun) {
    this.interview = interview;
    this.send = send;
    this.turn = 0;
    this.carried = false; // the box holds words that no turn took: the next question keeps them
    this.field = /** @type {HTMLTextAreaElement} */ (part("typed"));
    this.field.disabled = true; // until it is known which question the words and the draft belong to
    this.field.addEventListener("input", () => this.#keep());
    this.field.addEventListener("pointerdown", begun);
  }

  /** Words spoken so far stand above it; the server joins both. @param {boolean} shown */
  show(shown) {
    part("typing").hidden = !shown;
    if (!shown) return;
    if (!this.field.value) this.field.value = this.#draft();
    this.field.focus();
  }

  /** @param {number} turn */
  next(turn) {
    this.turn = turn;
    this.field.disabled = false;
    if (this.carried) this.#keep();
    else this.field.value = this.#draft();
    this.carried = false;
    // On a phone the keyboard would cover the feedback that is still being read.
    if (!part("typing").hidden && matchMedia("(min-width: 60rem)").matches) this.field.focus();
  }

  submit() {
    const text = this.field.value.trim();
    if (!text) {
      this.field.focus();
      return;
    }
    this.field.disabled = true;
    this.send(text);
  }

  /**
   * The turn is over. Words still being typed, or sent too late, stay in the box.
   * @param {boolean} taken the server has the text, or the question was skipped
   */
  ended(taken) {
    this.carried = !taken && !part("typing").hidden && this.field.value.trim() !== "";
    if (!this.carried) this.#forget();
  }

  /** The server did not take what was submitted. */
  refused() {
    this.field.disabled = false;
    this.carried = this.field.value.trim() !== "";
    this.#keep();
  }

  /** The interview is deleted. */
  erase() {
    this.field.value = "";
    this.#remove();
  }

  #forget() {
    if (this.#draft()) this.#remove(); // else it belongs to another turn
  }

  #remove() {
    try {
      sessionStorage.removeItem(DRAFT_KEY);
    } catch {
      // there was no draft to remove
    }
  }

  #keep() {
    try {
      sessionStorage.setItem(DRAFT_KEY, JSON.stringify({ interview: this.interview, turn: this.turn, text: this.field.value }));
    } catch {
      // without storage a reload loses the draft, nothing else
    }
  }

  #draft() {
    try {
      const { interview, turn, text } = JSON.parse(sessionStorage.getItem(DRAFT_KEY) || "{}");
      return interview === this.interview && turn === this.turn ? text : "";
    } catch {
      return "";
    }
  }
}
