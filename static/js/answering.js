// One answer from its first frame to the receipt: end, typed text, skip, finish. What the connection did not take
// is said again after the next welcome. Knows no buttons and no words.
import { sha256, Uplink } from "./uplink.js";

/** @typedef {Record<string, unknown> & {type: string}} Message */

export class Answering {
  /**
   * @param {import("./socket.js").LiveSocket} socket
   * @param {() => Promise<void>} flush hands over what the microphone has gathered
   */
  constructor(socket, flush) {
    this.socket = socket;
    this.flush = flush;
    this.uplink = new Uplink((bytes) => socket.sendFrame(bytes));
    this.window = 0;
    this.ending = 0; // the answer whose end is being prepared or was sent
    /** @type {Message | null} */
    this.end = null;
    this.endSent = false;
    /** @type {Map<string, Message>} said, and not yet known to have been heard */
    this.pending = new Map();
    setInterval(() => this.#sendEnd(), 100);
  }

  /** @param {{answer: number, epoch: string, next: number, window: number}} welcome */
  welcome(welcome) {
    this.window = welcome.window;
    if (this.end && this.end.answer !== welcome.answer) this.end = null;
    this.endSent = false;
    if (welcome.answer) this.uplink.resume(welcome);
    else this.uplink.live = true;
    for (const message of this.pending.values()) this.socket.tell(message);
  }

  /** @param {number} turn */
  opened(turn) {
    if (turn <= this.uplink.answer) return; // replayed
    this.end = null;
    this.uplink.begin(turn, this.window);
  }

  /** No more audio for `turn`: hand over the rest, then tell the server where it ends. @param {number} turn */
  async finish(turn) {
    if (turn !== this.uplink.answer || this.ending === turn) return;
    this.ending = turn;
    await this.flush();
    this.uplink.close();
    const last = this.uplink.next - 1;
    const digest = await sha256(this.uplink.pcm());
    if (turn !== this.uplink.answer) return; // the server went on without us
    this.end = { type: "end", answer: turn, last_seq: last, sha256: digest };
    this.endSent = false;
    this.#sendEnd();
  }

  /** @param {number} turn */
  committed(turn) {
    if (this.end?.answer === turn) this.end = null;
  }

  /** Say it now, and again after a reconnect until `heard` is called for it. @param {Message} message */
  command(message) {
    this.pending.set(message.type, message);
    this.socket.tell(message);
  }

  /** The turn is over: what was asked for it has been heard. @param {number} turn */
  heard(turn) {
    for (const [type, message] of this.pending) {
      if (message.answer === turn) this.pending.delete(type);
    }
  }

  #sendEnd() {
    if (!this.end || this.endSent || !this.uplink.drained) return;
    this.endSent = this.socket.tell(this.end);
  }
}
