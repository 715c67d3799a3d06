// Keeps a phone's screen on while the microphone is open.

export class WakeLock {
  constructor() {
    this.wanted = false;
    /** @type {WakeLockSentinel | null} */
    this.sentinel = null;
    document.addEventListener("visibilitychange", () => {
      if (this.wanted && document.visibilityState === "visible") this.hold(); // the browser lets go when hidden
    });
  }

  async hold() {
    this.wanted = true;
    try {
      this.sentinel = (await navigator.wakeLock?.request("screen")) ?? null;
    } catch {
      // refused on low battery: the screen may then go dark
    }
  }

  release() {
    this.wanted = false;
    this.sentinel?.release();
    this.sentinel = null;
  }
}
