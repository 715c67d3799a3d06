// The current answer's frames on their way up: numbered, kept until they are safe, sent within the server's
// credit. Knows no microphone and no socket: `send` says whether a connection took the bytes.
import { encodeFrame, FLAG_DISCONTINUITY, FLAG_LAST } from "./frames.js";

/** @typedef {{pcm: Uint8Array, captureUs: number, flags: number}} Captured */

const UNSAVED_FRAMES = 300; // 30 s of 100 ms frames that the server does not have yet
const KEPT_FRAMES = 2000; // of one answer, for its checksum and for sending again: 6.4 MB
const BURST_FRAMES = 8;
const PER_TICK = 4; // each 100 ms: four times real time while catching up
const TICK_MS = 100;

export class Uplink {
  /** @param {(bytes: Uint8Array<ArrayBuffer>) => boolean} send */
  constructor(send) {
    this.send = send;
    this.answer = 0;
    this.epoch = "";
    this.open = false;
    /** @type {Captured[]} */
    this.frames = [];
    this.base = 0; // seq of frames[0]
    this.acked = 0; // every seq below is on the server's disk
    this.sent = 0; // every seq below was handed to the connection
    this.credit = 0; // seqs below may be sent
    /** @type {Captured[]} */
    this.waiting = []; // captured while no answer is open
    this.broken = false; // audio was dropped: the next frame says so
    this.tokens = BURST_FRAMES;
    this.timer = 0;
    this.ackedAt = 0;
    this.live = false;
  }

  get next() {
    return this.base + this.frames.length;
  }

  get unsaved() {
    return this.next - this.acked;
  }

  /** Nothing more fits: recording has visibly stopped. */
  get full() {
    return this.open && this.unsaved >= UNSAVED_FRAMES;
  }

  /** Audio is missing before the next frame: muted, another device, nothing could be kept. */
  gap() {
    this.broken = true;
  }

  /** @param {Uint8Array} pcm @param {number} captureUs @param {boolean} [last] nothing follows; may be short */
  capture(pcm, captureUs, last = false) {
    const flags = (this.broken ? FLAG_DISCONTINUITY : 0) | (last ? FLAG_LAST : 0);
    if (this.open) {
      if (this.full) {
        this.gap();
        return;
      }
      this.frames.push({ pcm, captureUs, flags });
      this.#trim();
      this.pump();
    } else if (!last) {
      this.waiting.push({ pcm, captureUs, flags });
      if (this.waiting.length > UNSAVED_FRAMES) {
        this.waiting.shift();
        this.waiting[0].flags |= FLAG_DISCONTINUITY;
      }
    }
    this.broken = false;
  }

  /**
   * A new answer: what was captured since the last one ended belongs to it.
   * @param {number} answer @param {number} window
   * @param {number} [next] what the server has of it from an earlier page
   */
  begin(answer, window, next = 0) {
    this.answer = answer;
    this.open = true;
    this.frames = this.waiting;
    this.waiting = [];
    this.base = next;
    this.acked = next;
    this.sent = next;
    this.credit = next + window;
    this.pump();
  }

  /**
   * The server said where it stands, after a (re)connection.
   * @param {{answer: number, epoch: string, next: number, window: number}} welcome
   */
  resume({ answer, epoch, next, window }) {
    this.live = true;
    this.ackedAt = performance.now();
    this.epoch = epoch;
    // A page that was loaded again, or lacks what the server waits for, goes on with what it hears from now.
    if (answer !== this.answer || next > this.next || next < this.base) {
      this.begin(answer, window, next);
      return;
    }
    this.acked = next;
    this.sent = next;
    this.credit = next + window;
    this.pump();
  }

  /** @param {number} upto last seq on disk @param {number} window frames that may follow */
  ack(upto, window) {
    this.acked = Math.max(this.acked, upto + 1);
    this.sent = Math.max(this.sent, this.acked);
    this.credit = upto + 1 + window;
    this.ackedAt = performance.now();
    this.pump();
  }

  /** @param {number} from */
  nack(from) {
    this.sent = Math.max(this.base, Math.min(this.sent, from));
    this.pump();
  }

  /** No connection takes anything until the next welcome. */
  pause() {
    this.live = false;
    clearTimeout(this.timer);
    this.timer = 0;
  }

  /** No more frames for this answer; what is captured from now on waits for the next one. */
  close() {
    if (!this.open) return;
    this.open = false;
    this.pump();
  }

  /** Every frame of the closed answer was handed over. */
  get drained() {
    return !this.open && this.sent >= this.next;
  }

  /** Seconds since the server owed an answer to frames that were sent; 0 when it owes none. */
  get owedS() {
    return this.live && this.sent > this.acked ? (performance.now() - this.ackedAt) / 1000 : 0;
  }

  /** All PCM of the answer in order; null when this page no longer has it all. @returns {Uint8Array<ArrayBuffer> | null} */
  pcm() {
    if (this.base > 0) return null;
    const bytes = new Uint8Array(this.frames.reduce((sum, frame) => sum + frame.pcm.length, 0));
    let at = 0;
    for (const { pcm } of this.frames) {
      bytes.set(pcm, at);
      at += pcm.length;
    }
    return bytes;
  }

  pump() {
    while (this.live && this.tokens > 0 && this.sent < Math.min(this.next, this.credit)) {
      const frame = this.frames[this.sent - this.base];
      const bytes = encodeFrame({ ...frame, answer: this.answer, seq: this.sent });
      if (!this.send(bytes)) break;
      if (this.sent === this.acked) this.ackedAt = performance.now();
      this.sent += 1;
      this.tokens -= 1;
    }
    if (this.live && !this.timer && this.tokens < BURST_FRAMES) {
      this.timer = setTimeout(() => this.#tick(), TICK_MS);
    }
  }

  #tick() {
    this.timer = 0;
    this.tokens = Math.min(BURST_FRAMES, this.tokens + PER_TICK);
    this.pump();
  }

  /** Forget the oldest frames that are safe; the checksum of the whole answer is then unknown. */
  #trim() {
    while (this.frames.length > KEPT_FRAMES && this.base < this.acked) {
      this.frames.shift();
      this.base += 1;
    }
  }
}

/** @param {Uint8Array<ArrayBuffer> | null} bytes @returns {Promise<string>} hex; "" for none or where it cannot be known */
export async function sha256(bytes) {
  if (!bytes?.length || !globalThis.crypto?.subtle) return "";
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
