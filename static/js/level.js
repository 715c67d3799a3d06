// The ring round the microphone: a smoothed level as a custom property that the style sheet draws.

const FALL = 0.6; // share of the last level that remains when it gets quieter

export class LevelMeter {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    this.level = 0;
  }

  /** @param {number} level 0 to 1 */
  show(level) {
    this.level = Math.max(level, this.level * FALL);
    if (this.level < 0.01) this.level = 0;
    this.element.style.setProperty("--level", this.level.toFixed(3));
  }
}
