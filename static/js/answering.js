// What the candidate does with an answer: end it, skip it, type it, finish. What the connection did not take is said
// again after the next welcome. Knows no buttons and no words.
import { Uplink } from "./uplink.js";

/** @typedef {Record<string, unknown> & {type: string}} Message */

const HUSH_MS = 700; // longer than the pause that ends an utterance, far shorter than any that ends a turn
const BYTES_PER_MS = 32;
const WAITS = ["thinking", "here"]; // they are about silence, which the server must not count before it hears of them

export class Answering {
  /**
   * @param {import("./socket.js").LiveSocket} socket
   * @param {() => Promise<void>} flush hands over what the microphone has gathered
   * @param {Promise<import("./store.js").FrameStore | null>} storage
   */
  constructor(socket, flush, storage) {
    this.socket = socket;
    this.flush = flush;
    const link = { frame: socket.sendFrame.bind(socket), tell: socket.tell.bind(socket) };
    this.uplink = new Uplink(link, storage);
    this.window = 0;
    this.ending = 0; // the answer that is being closed, or was
    /** @type {Map<string, Message>} said, and not yet known to have been heard */
    this.pending = new Map();
  }

  /** @param {import("./uplink.js").Welcome} welcome */
  async welcome(welcome) {
    this.window = welcome.window;
    for (const message of this.pending.values()) if (WAITS.includes(message.type)) this.socket.tell(message);
    await this.uplink.welcome(welcome);
    for (const message of this.pending.values()) if (!WAITS.includes(message.type)) this.socket.tell(message);
  }

  /** @param {number} turn */
  opened(turn) {
    this.uplink.begin(turn, this.window);
  }

  /** No more audio for `turn`: the rest goes up, then the server is told where it ends. @param {number} turn */
  async finish(turn) {
    if (turn !== this.uplink.answer || this.ending === turn) return;
    this.ending = turn;
    await this.flush();
    if (turn === this.uplink.answer) this.uplink.close(); // else the server went on, and that closed it
  }

  /** The microphone goes off: silence stands for it, so that the last word is over and never joined to the next. @param {number} frameMs */
  hush(frameMs) {
    if (!this.uplink.open) return;
    this.uplink.gap();
    for (let ms = 0; ms < HUSH_MS; ms += frameMs) this.uplink.capture(new Uint8Array(frameMs * BYTES_PER_MS), 0);
  }

  /** Say it now, and again after a reconnect until `heard` is called for it. @param {Message} message */
  command(message) {
    this.pending.set(message.type, message);
    this.socket.tell(message);
  }

  /** The server waits: it has heard that it was asked to. */
  waited() {
    for (const type of WAITS) this.pending.delete(type);
  }

  /** The turn is over: what was asked for it has been heard. @param {number} turn */
  heard(turn) {
    for (const [type, message] of this.pending) {
      if (message.answer === turn) this.pending.delete(type);
    }
  }
}
