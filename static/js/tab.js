// One tab holds an interview: a second one asks before it takes over, and the first lets go at once. A lock of the
// browser says who holds it, so that a crashed tab holds nothing; where there are no locks, tabs ask each other.

const FREE_WITHIN_MS = 600; // a page that is being loaded again lets go of its lock a moment later
const LET_GO_MS = 3000; // a frozen tab does not answer: it is then overruled

export class TabSeat {
  /** @param {string} interview @param {() => Promise<void>} onTaken another tab goes on: stop everything */
  constructor(interview, onTaken) {
    this.name = `viva.${interview}`;
    this.onTaken = onTaken;
    this.self = Math.random();
    this.held = false;
    /** @type {(() => void) | null} */
    this.letGo = null;
    this.channel = globalThis.BroadcastChannel ? new BroadcastChannel(this.name) : null;
    if (this.channel) this.channel.onmessage = ({ data }) => this.#asked(data);
    addEventListener("pagehide", () => this.release());
  }

  /** @returns {Promise<boolean>} whether this tab holds it now, because no other did */
  async take() {
    this.held = navigator.locks ? await this.#lock({ signal: AbortSignal.timeout(FREE_WITHIN_MS) }) : !(await this.#othersAnswer());
    return this.held;
  }

  /** The candidate wants to go on here. */
  async claim() {
    if (this.held) return;
    this.channel?.postMessage({ taken: this.self });
    if (navigator.locks && !(await this.#lock({ signal: AbortSignal.timeout(LET_GO_MS) }))) await this.#lock({ steal: true });
    this.held = true;
  }

  release() {
    this.held = false;
    this.letGo?.();
    this.letGo = null;
  }

  /** @param {LockOptions} options @returns {Promise<boolean>} */
  #lock(options) {
    return new Promise((resolve) => {
      const held = navigator.locks.request(this.name, options, () => new Promise((letGo) => {
        this.letGo = () => letGo(undefined);
        resolve(true);
      }));
      held.catch(() => {
        resolve(false);
        if (this.held) this.#lost(); // overruled by another tab
      });
    });
  }

  /** @param {{ask?: number, here?: number, taken?: number}} data */
  #asked({ ask, here, taken }) {
    if (ask && this.held) this.channel?.postMessage({ here: ask });
    if (here === this.self) this.answered?.();
    if (taken && this.held) this.#lost();
  }

  async #lost() {
    this.held = false;
    await this.onTaken();
    this.release();
  }

  /** @returns {Promise<boolean>} */
  #othersAnswer() {
    if (!this.channel) return Promise.resolve(false);
    return new Promise((resolve) => {
      this.answered = () => resolve(true);
      this.channel?.postMessage({ ask: this.self });
      setTimeout(() => resolve(false), FREE_WITHIN_MS);
    });
  }
}
