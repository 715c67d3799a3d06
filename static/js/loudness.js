// Whether a voice is cut off at the top again and again: too loud for its microphone. Knows no sound and no page.

const CLIPPED_SHARE = 0.002; // of a frame's samples; a knock on the table has less, or is alone
const FRAMES = 5;
const WITHIN_MS = 3000;
const CALM_AFTER_MS = 5000;

export class Loudness {
  constructor() {
    /** @type {number[]} when frames were clipped, the last few */
    this.clippedMs = [];
    this.loud = false;
  }

  /** @param {number} share of a frame's samples that are at the limit @param {number} nowMs @returns {boolean} it is too loud */
  heard(share, nowMs) {
    if (share >= CLIPPED_SHARE) this.clippedMs = [...this.clippedMs, nowMs].slice(-FRAMES);
    const first = this.clippedMs.length === FRAMES ? this.clippedMs[0] : -Infinity;
    if (nowMs - first <= WITHIN_MS) this.loud = true;
    else if (nowMs - (this.clippedMs.at(-1) ?? -Infinity) > CALM_AFTER_MS) this.loud = false;
    return this.loud;
  }
}
