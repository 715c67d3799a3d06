// One quiet line that says what is safe: saved up to when, what waits on this device, what is missing.
import { part, say } from "./catalog.js";

const BEHIND_MS = 2000; // less is on its way as always

/**
 * @typedef {object} Situation
 * @property {boolean} live the connection stands
 * @property {boolean} kept what waits is on the device, not only in this page
 * @property {boolean} full nothing more can be kept
 * @property {number} unsavedMs
 * @property {number} missingMs
 * @property {number} savedAtMs in this page's time; 0 for nothing yet
 */

/** @param {Situation} situation @returns {string} what kind of truth it is */
export function truthKind({ live, full, kept, unsavedMs, missingMs, savedAtMs }) {
  if (full) return "truth_full";
  if (!live && unsavedMs > 0) return kept ? "truth_kept" : "truth_kept_in_page";
  if (unsavedMs > BEHIND_MS) return "truth_sending";
  if (!savedAtMs) return "";
  return missingMs > 0 ? "truth_missing" : "truth_saved";
}

export class Truth {
  constructor() {
    this.line = part("saved");
    this.aloud = part("saved-aloud");
    this.kind = "";
    this.offsetMs = 0;
  }

  /** Times are the server's, so that they agree with the report. @param {number} serverTime ms since 1970; 0: not told */
  welcome(serverTime) {
    if (serverTime) this.offsetMs = serverTime - (performance.timeOrigin + performance.now());
  }

  /** @param {Situation} situation */
  show(situation) {
    const kind = truthKind(situation);
    const text = kind && say(kind, {
      time: this.#time(situation.savedAtMs),
      seconds: Math.ceil(situation.unsavedMs / 1000),
      missing: Math.ceil(situation.missingMs / 1000),
    });
    if (this.line.textContent !== text) this.line.textContent = text;
    this.line.dataset.kind = kind;
    if (kind === this.kind) return;
    // Said once when it turns, not each second; that all is well need not be said first.
    if (this.kind && kind) this.aloud.textContent = text;
    this.kind = kind;
  }

  /** @param {number} atMs */
  #time(atMs) {
    const at = new Date(atMs + this.offsetMs);
    return at.toLocaleTimeString(document.documentElement.lang, { hourCycle: "h23", hour: "2-digit", minute: "2-digit", second: "2-digit" });
  }
}
