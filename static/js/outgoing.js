// The frames of one answer on their way up: numbered, held in memory or on the device until they are safe. Says what
// goes next: a frame, or the gap where nothing is held any more. Knows no socket.
import { Sha256 } from "./sha256.js";

/** @typedef {{pcm: Uint8Array, captureUs: number, flags: number, atMs: number}} Captured */
/** @typedef {"full" | "lost" | "unreadable"} Why */
/** @typedef {{frame: Captured} | {from: number, to: number, why: Why}} Piece */
/** @typedef {{next: number, window: number, epoch: string}} Standing where the server is */

const MEMORY_FRAMES = 300; // 30 s of 100 ms frames that the server does not have yet
const KEPT_FRAMES = 2000; // without a store: of one answer, for sending it again from the start
const READ_FRAMES = 40;
const MAX_GAP_FRAMES = 36000;

export class Outgoing {
  /** @param {number} answer @param {import("./store.js").FrameStore | null} store @param {number} [next] the first seq of this page */
  constructor(answer, store, next = 0) {
    this.answer = answer;
    this.store = store;
    this.epoch = "";
    this.closed = false;
    this.endSent = false;
    this.next = next;
    this.acked = next; // every seq below is on the server's disk
    this.sent = next; // every seq below was handed to the connection
    this.credit = next; // seqs below may be sent
    this.ackedAt = 0;
    this.savedAtMs = 0; // when the last frame that the server has was spoken
    this.gapTo = 0; // a gap was told up to here and is not yet acknowledged: frames wait for it
    /** @type {Map<number, Captured>} */
    this.frames = new Map();
    /** @type {Set<number>} seqs on the device */
    this.stored = new Set();
    /** @type {{from: number, to: number, why: Why}[]} */
    this.holes = [];
    this.reading = false;
    this.base = next; // what lies before was another page's; it may be on the device
    this.sha = next === 0 ? new Sha256() : null;
    /** @type {string | undefined} */
    this.digest = undefined;
    /** @type {() => void} called when frames were read back */
    this.onRead = () => {};
  }

  /** What an earlier page left on the device. @param {number} from */
  async restore(from) {
    this.base = from;
    if (!this.store) return;
    const seqs = await this.store.seqs(this.answer, from);
    for (const seq of seqs) this.stored.add(seq);
    if (seqs.length) {
      this.next = Math.max(this.next, /** @type {number} */ (seqs.at(-1)) + 1);
      this.sha = null; // the frames before were not this page's
    }
  }

  /** Nothing more fits here. */
  get full() {
    return this.#inMemoryOnly >= MEMORY_FRAMES;
  }

  get #inMemoryOnly() {
    let count = 0;
    for (const seq of this.frames.keys()) if (seq >= this.acked && !this.stored.has(seq)) count += 1;
    return count;
  }

  get unsaved() {
    return this.next - this.acked;
  }

  get missing() {
    return this.holes.reduce((sum, { from, to }) => sum + to - from, 0);
  }

  get drained() {
    return this.closed && this.sent >= this.next;
  }

  /** Seconds since the server owed an answer to what was sent; 0 when it owes none. */
  get owedS() {
    return this.sent > this.acked ? (performance.now() - this.ackedAt) / 1000 : 0;
  }

  /** @param {Captured} frame */
  take(frame) {
    if (this.full) {
      this.#hole(this.next, this.next + 1, "full");
      this.next += 1;
      return;
    }
    const seq = this.next;
    this.next += 1;
    this.frames.set(seq, frame);
    this.sha?.update(frame.pcm);
    this.store?.put(this.answer, seq, frame, () => {
      this.stored.add(seq);
      this.#trim();
    });
    if (!this.store) this.#trim();
  }

  /** The server said where it stands, after a (re)connection. @param {Standing} standing */
  resume({ next, window, epoch }) {
    this.epoch = epoch;
    this.endSent = false;
    this.gapTo = 0;
    this.next = Math.max(this.next, next);
    this.acked = next;
    this.sent = next;
    this.credit = next + window;
    this.ackedAt = performance.now();
  }

  /** Closed, and nothing of it goes up before the next word of the server. */
  park() {
    this.closed = true;
    this.resume({ next: this.acked, window: 0, epoch: this.epoch });
  }

  /** @param {number} upto last seq on disk @param {number} window frames that may follow */
  ack(upto, window) {
    this.savedAtMs = this.frames.get(upto)?.atMs ?? this.savedAtMs;
    this.acked = Math.max(this.acked, upto + 1);
    this.sent = Math.max(this.sent, this.acked);
    this.credit = upto + 1 + window;
    this.ackedAt = performance.now();
    this.#trim();
  }

  /** @param {number} from */
  nack(from) {
    this.sent = Math.min(this.sent, from);
    this.gapTo = 0;
  }

  /** What goes up next; null for nothing now. @returns {Piece | null} */
  peek() {
    const { sent } = this;
    if (sent >= this.next || sent >= this.credit || this.acked < this.gapTo || this.reading) return null;
    const frame = this.frames.get(sent);
    if (frame) return { frame };
    if (this.stored.has(sent)) {
      this.#read(sent);
      return null;
    }
    return this.#gap(sent);
  }

  /** @param {Piece} piece the connection took it */
  handed(piece) {
    if (this.sent === this.acked) this.ackedAt = performance.now();
    if ("frame" in piece) {
      this.sent += 1;
      return;
    }
    this.#hole(piece.from, piece.to, piece.why);
    this.sent = piece.to;
    this.gapTo = piece.to;
  }

  /** @returns {{type: string, answer: number, last_seq: number, sha256: string}} */
  end() {
    this.digest ??= this.sha && !this.holes.length && this.next > 0 ? this.sha.digest() : "";
    this.sha = null;
    return { type: "end", answer: this.answer, last_seq: this.next - 1, sha256: this.digest };
  }

  /** @param {number} seq @returns {Piece} from here to the next frame that is held */
  #gap(seq) {
    const why = this.#why(seq);
    let to = seq + 1;
    while (to < this.next && to - seq < MAX_GAP_FRAMES && !this.#holds(to) && this.#why(to) === why) to += 1;
    return { from: seq, to, why };
  }

  /** @param {number} seq */
  #holds(seq) {
    return this.frames.has(seq) || this.stored.has(seq);
  }

  /** @param {number} seq @returns {Why} */
  #why(seq) {
    return this.holes.find(({ from, to }) => from <= seq && seq < to)?.why ?? "lost";
  }

  /** @param {number} from @param {number} to @param {Why} why */
  #hole(from, to, why) {
    const last = this.holes.at(-1);
    if (last && last.to === from && last.why === why) last.to = to;
    else if (!this.holes.some((hole) => hole.from <= from && to <= hole.to)) this.holes.push({ from, to, why });
  }

  /** @param {number} from */
  async #read(from) {
    this.reading = true;
    /** @type {Map<number, Captured | null>} */
    let read = new Map();
    try {
      read = (await this.store?.read(this.answer, from, READ_FRAMES)) ?? read;
    } catch {
      // a store that fails holds nothing any more
    }
    for (let seq = from; seq < Math.min(from + READ_FRAMES, this.next); seq += 1) {
      const frame = read.get(seq);
      if (frame) this.frames.set(seq, frame);
      else if (!this.frames.has(seq) && this.stored.delete(seq)) this.#hole(seq, seq + 1, "unreadable");
    }
    this.reading = false;
    this.onRead();
  }

  /** Memory holds what only it has, and half a minute of what the server lacks. */
  #trim() {
    if (!this.store) {
      for (const seq of this.frames.keys()) {
        if (this.frames.size <= KEPT_FRAMES || seq >= this.acked) return;
        this.frames.delete(seq);
      }
      return;
    }
    const recent = this.next - MEMORY_FRAMES + READ_FRAMES;
    for (const seq of this.frames.keys()) {
      const coming = seq >= this.sent && seq < this.sent + READ_FRAMES;
      if (this.stored.has(seq) && (seq < this.acked || (seq < recent && !coming))) this.frames.delete(seq);
    }
  }
}
