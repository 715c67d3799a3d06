// Time left for an answer, on the clock of the audio that was captured for it since speech began.

const LAST_MINUTE_S = 60;

export class AnswerTimer {
  /** @param {HTMLElement} element @param {(left: string) => string} words */
  constructor(element, words) {
    this.element = element;
    this.words = words;
    this.limitS = 0;
    this.capturedS = 0;
    /** @type {number | null} capture time at which speech began */
    this.speechAtS = null;
    this.warned = false; // the server has told that most of the time is over
  }

  clear() {
    this.limitS = 0;
    this.capturedS = 0;
    this.speechAtS = null;
    this.warned = false;
    this.show();
  }

  warn() {
    this.warned = true;
    this.show();
  }

  /** @param {number} limitS @param {number} capturedS audio there is already @param {number} elapsedS of it since speech began, if that is known */
  open(limitS, capturedS = 0, elapsedS = 0) {
    this.limitS = limitS;
    this.capturedS = capturedS;
    if (elapsedS > 0) this.speechAtS = capturedS - elapsedS;
    this.show();
  }

  /** @param {number} atS */
  speechStarted(atS) {
    this.speechAtS ??= atS;
    this.show();
  }

  /** @param {number} seconds */
  captured(seconds) {
    this.capturedS += seconds;
    this.show();
  }

  show() {
    const running = this.limitS > 0 && this.speechAtS !== null;
    const elapsedS = running ? Math.max(0, this.capturedS - (this.speechAtS ?? 0)) : 0;
    const leftS = Math.max(0, Math.ceil(this.limitS - elapsedS));
    const text = this.limitS > 0 ? this.words(clock(leftS)) : "";
    if (this.element.textContent !== text) this.element.textContent = text;
    this.element.classList.toggle("last-minute", running && (this.warned || leftS <= LAST_MINUTE_S));
  }
}

/** @param {number} seconds @returns {string} m:ss */
export function clock(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
