// A typed answer: the text field, its draft kept for a reload, its counter.
import { part } from "./catalog.js";

const DRAFT_KEY = "viva.draft";

export class Typing {
  /** @param {(text: string) => void} send @param {() => void} begun the field needs room on a phone */
  constructor(send, begun) {
    this.send = send;
    this.turn = 0;
    this.field = /** @type {HTMLTextAreaElement} */ (part("typed"));
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
    this.field.value = this.#draft();
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

  /** The server has it. */
  sent() {
    try {
      sessionStorage.removeItem(DRAFT_KEY);
    } catch {
      // there was no draft to remove
    }
  }

  #keep() {
    try {
      sessionStorage.setItem(DRAFT_KEY, JSON.stringify({ turn: this.turn, text: this.field.value }));
    } catch {
      // without storage a reload loses the draft, nothing else
    }
  }

  #draft() {
    try {
      const { turn, text } = JSON.parse(sessionStorage.getItem(DRAFT_KEY) || "{}");
      return turn === this.turn ? text : "";
    } catch {
      return "";
    }
  }
}
