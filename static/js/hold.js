// Hold to talk: while the key or the button is up, nothing of the microphone is recorded. Knows no answer and no words.

const TAIL_MS = 800; // a key goes up before the last word is over
const KEY = "viva.hold";

export class HoldToTalk {
  /** @param {import("./live.js").LivePage} page @param {HTMLElement} button */
  constructor(page, button) {
    this.page = page;
    this.button = button;
    this.tail = 0;
    this.open = false; // what is captured is recorded
    button.addEventListener("pointerdown", (event) => {
      button.setPointerCapture(event.pointerId);
      this.press();
    });
    for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) button.addEventListener(end, () => this.release());
    button.addEventListener("click", (event) => {
      if (event.detail !== 0) return; // a pointer has held it; Enter and screen readers only press
      if (page.facts.held) this.release();
      else this.press();
    });
    button.addEventListener("contextmenu", (event) => event.preventDefault()); // a long touch is speech
    button.addEventListener("blur", () => this.release());
    addEventListener("blur", () => this.release()); // a key that goes up elsewhere is never heard of
    addEventListener("visibilitychange", () => this.release());
  }

  get on() {
    return this.page.facts.hold;
  }

  /** Nothing is recorded, because nobody holds the key. */
  get shut() {
    return this.on && !this.open;
  }

  /** @returns {boolean} the choice of this tab, after a reload too */
  static chosen() {
    try {
      return sessionStorage.getItem(KEY) === "true";
    } catch {
      return false;
    }
  }

  /** @param {boolean} on */
  use(on) {
    const { page } = this;
    page.facts.hold = on;
    page.facts.muted = false;
    this.#stop();
    try {
      sessionStorage.setItem(KEY, String(on));
    } catch {
      // without storage the next page begins without it
    }
    this.tell();
    page.unmute();
    page.show();
    if (on) this.button.focus(); // Space is its key at once, not the switch's
  }

  /** The server has to know, of every socket anew: with a key held silence ends no answer. */
  tell() {
    const { facts, socket } = this.page;
    const spoken = facts.hold ? "hold" : "voice";
    socket.tell({ type: "input", mode: facts.typing ? "text" : spoken });
  }

  press() {
    const { page } = this;
    if (!this.on || page.facts.held || page.facts.typing) return;
    page.facts.held = true;
    clearTimeout(this.tail);
    if (!this.open) page.answering.uplink.gap();
    this.open = true;
    page.show();
  }

  release() {
    if (!this.page.facts.held) return;
    this.page.facts.held = false;
    this.tail = setTimeout(() => {
      this.#stop();
      this.page.answering.hush(this.page.frameMs); // others may be talking: what was said with the key held is over
    }, TAIL_MS);
    this.page.show();
  }

  #stop() {
    clearTimeout(this.tail);
    this.page.facts.held = false;
    this.open = false;
    this.page.level.show(0);
  }
}
