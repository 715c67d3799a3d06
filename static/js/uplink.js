// All answers on their way up: the open one, and closed ones that the server lacks frames of. Shares one pace among
// them. Knows no microphone and no socket: the link says whether a connection took what it was given.
import { encodeFrame, FLAG_DISCONTINUITY, FLAG_LAST, SAMPLE_RATE } from "./frames.js";
import { Outgoing } from "./outgoing.js";

/** @typedef {import("./outgoing.js").Captured} Captured */
/** @typedef {{answer: number, epoch: string, next: number, window: number}} Standing */
/** @typedef {Standing & {late?: Standing[], buffer_key?: string}} Welcome */
/** @typedef {{frame: (bytes: Uint8Array<ArrayBuffer>) => boolean, tell: (message: Record<string, unknown>) => boolean}} Link */

const WAITING_FRAMES = 300; // captured while no answer is open
const BURST_MS = 800;
const CATCH_UP = 4; // times real time
const LATE_MS = 60000; // the report sends the rest of what is on the device
const ONLY_HERE_MS = 20 * 60000; // where nothing is, this page is the last one to have it
const TICK_MS = 100;
const BYTES_PER_MS = (2 * SAMPLE_RATE) / 1000;

export class Uplink {
  /** @param {Link} link @param {Promise<import("./store.js").FrameStore | null>} [storage] null: memory is all there is */
  constructor(link, storage = Promise.resolve(null)) {
    this.link = link;
    this.storage = storage;
    /** @type {import("./store.js").FrameStore | null} */
    this.store = null;
    this.answer = 0; // the newest one the server opened
    /** @type {Outgoing | null} what is captured belongs to it */
    this.current = null;
    /** @type {Map<number, Outgoing>} by answer, the current one too */
    this.all = new Map();
    /** @type {Captured[]} */
    this.waiting = [];
    this.broken = false; // audio was dropped: the next frame says so
    this.live = false;
    this.round = 0;
    this.committedAtMs = 0; // savedAtMs of answers that were let go
    this.ended = 0; // the newest answer that takes nothing more
    this.taking = Promise.resolve(); // standings are taken up one after the other
    this.burstMs = BURST_MS;
    this.tokensMs = BURST_MS;
    this.filledAt = performance.now();
    this.timer = 0;
  }

  /** An answer is open and takes what is captured. */
  get open() {
    return this.current !== null && !this.current.closed;
  }

  /** Recording has visibly stopped: neither memory nor device take more. */
  get full() {
    return this.open && this.current?.full === true;
  }

  /** What is captured goes to the device, not only into memory. */
  get kept() {
    return this.store !== null && !this.store.refused;
  }

  get unsaved() {
    return this.#sum((one) => one.unsaved);
  }

  /** How long a page whose interview is over waits for the rest to go up. @param {boolean} admitted a lost connection may come back */
  patienceMs(admitted) {
    if (this.unsaved === 0) return 0;
    if (this.kept) return this.live ? LATE_MS : 0;
    return admitted ? ONLY_HERE_MS : 0;
  }

  get missing() {
    return this.current?.missing ?? 0;
  }

  get owedS() {
    return this.live ? Math.max(0, ...[...this.all.values()].map((one) => one.owedS)) : 0;
  }

  /** When the last frame that is on the server's disk was spoken, in this page's time; 0 for none. */
  get savedAtMs() {
    return Math.max(this.committedAtMs, ...[...this.all.values()].map((one) => one.savedAtMs));
  }

  /** What the hello says of this page. */
  get have() {
    const { current } = this;
    return {
      rate: SAMPLE_RATE,
      answer: this.answer,
      have_from: current?.base ?? 0,
      have_to: current?.next ?? 0,
      ...(current?.epoch ? { epoch: current.epoch } : {}),
    };
  }

  /** Audio is missing before the next frame: muted, another device. */
  gap() {
    this.broken = true;
  }

  /** @param {Uint8Array} pcm @param {number} captureUs @param {boolean} [last] nothing follows; may be short */
  capture(pcm, captureUs, last = false) {
    const flags = (this.broken ? FLAG_DISCONTINUITY : 0) | (last ? FLAG_LAST : 0);
    const frame = { pcm, captureUs, flags, atMs: performance.timeOrigin + performance.now() };
    if (this.open) {
      this.current?.take(frame);
      this.pump();
    } else if (!last) {
      this.waiting.push(frame);
      if (this.waiting.length > WAITING_FRAMES) {
        this.waiting.shift();
        this.waiting[0].flags |= FLAG_DISCONTINUITY;
      }
    }
    this.broken = this.full;
  }

  /** The server opened a new answer: what was captured since the last one ended belongs to it. @param {number} answer @param {number} window */
  begin(answer, window) {
    if (answer <= this.answer) return; // replayed
    this.answer = answer;
    const outgoing = this.#add(new Outgoing(answer, this.store));
    outgoing.credit = window;
    outgoing.ackedAt = performance.now();
    this.#captureInto(outgoing);
  }

  /**
   * The server said where it stands, after a (re)connection: with the open answer and closed ones that it lacks
   * frames of. Of others that are kept here it is asked: it says `committed` for those that it has whole.
   * @param {Welcome} welcome
   */
  async welcome(welcome) {
    this.round += 1;
    const { round } = this;
    this.answer = Math.max(this.answer, welcome.answer); // before any wait: its opening is replayed right after this
    await this.#inTurn(() => this.#takeUp(welcome, round));
  }

  /** @param {Welcome} welcome @param {number} round */
  async #takeUp(welcome, round) {
    if (round !== this.round) return;
    const late = welcome.late ?? [];
    const wanted = new Set([welcome.answer, ...late.map(({ answer }) => answer)]);
    await this.#unlock(welcome.buffer_key ?? "");
    for (const standing of late) await this.#standLate(standing);
    if (welcome.answer) this.#captureInto(await this.#stand(welcome));
    const unnamed = await this.#unnamed(wanted, welcome.answer || Infinity); // without an open one it is over
    if (round !== this.round) return;
    this.live = true;
    this.pump();
    for (const [answer, last] of unnamed) {
      if (!this.all.get(answer)?.endSent) this.link.tell({ type: "end", answer, last_seq: last, sha256: "" });
    }
  }

  /** Two that read the device at once would number the same frames. @param {() => Promise<void>} step @returns {Promise<void>} */
  #inTurn(step) {
    const taken = this.taking.then(step);
    this.taking = taken.catch(() => {}); // told to who waits for it
    return taken;
  }

  /** @param {{answer: number, upto: number, window: number}} message */
  ack({ answer, upto, window }) {
    const outgoing = this.all.get(answer);
    if (outgoing) outgoing.ack(upto, window);
    else if (answer < this.answer || !this.open) {
      this.#inTurn(async () => {
        if (!this.all.has(answer)) await this.#standLate({ answer, epoch: "", next: upto + 1, window });
      });
    }
    this.pump();
  }

  /** @param {{answer: number, from: number}} message */
  nack({ answer, from }) {
    this.all.get(answer)?.nack(from);
    this.pump();
  }

  /** @param {number} answer the server has it for good */
  committed(answer) {
    const outgoing = this.all.get(answer);
    if (outgoing) outgoing.closed = true;
    this.committedAtMs = this.savedAtMs;
    this.all.delete(answer);
    this.store?.forget(answer);
  }

  /** No connection takes anything until the next welcome. */
  pause() {
    this.live = false;
    this.round += 1;
    clearTimeout(this.timer);
    this.timer = 0;
  }

  /** No more frames for this answer; what is captured from now on waits for the next one. */
  close() {
    this.ended = this.answer; // also one that is still being taken up
    if (this.current) this.current.closed = true;
    this.pump();
  }

  /** Another page goes on: what this one holds is on the device, or lost with it. */
  async release() {
    this.pause();
    await this.taking;
    this.all.clear();
    this.current = null; // nothing is numbered here from now on
    this.answer = 0;
    await this.store?.flush();
    this.waiting = [];
  }

  /** The interview is deleted. */
  async erase() {
    this.pause();
    this.all.clear();
    this.current = null;
    await (await this.storage)?.forgetAll();
  }

  pump() {
    if (!this.live) return;
    this.#fill();
    for (const outgoing of this.#order()) this.#send(outgoing);
    if (!this.timer && this.unsaved > 0) {
      this.timer = setTimeout(() => {
        this.timer = 0;
        this.pump();
      }, TICK_MS);
    }
  }

  /** @param {Outgoing} outgoing */
  #send(outgoing) {
    for (let piece = outgoing.peek(); piece && this.tokensMs > 0; piece = outgoing.peek()) {
      if (!this.#give(outgoing, piece)) return;
      outgoing.handed(piece);
    }
    if (outgoing.drained && !outgoing.endSent) outgoing.endSent = this.link.tell(outgoing.end());
  }

  /** @param {Outgoing} outgoing @param {import("./outgoing.js").Piece} piece */
  #give({ answer, sent }, piece) {
    if (!("frame" in piece)) return this.link.tell({ type: "gap", answer, ...piece });
    this.tokensMs -= piece.frame.pcm.length / BYTES_PER_MS;
    return this.link.frame(encodeFrame({ ...piece.frame, answer, seq: sent }));
  }

  /** The open answer first: somebody waits for its words. */
  #order() {
    const others = [...this.all.values()].filter((one) => one !== this.current);
    return this.current && this.all.has(this.current.answer) ? [this.current, ...others] : others;
  }

  #fill() {
    const now = performance.now();
    this.tokensMs = Math.min(this.burstMs, this.tokensMs + CATCH_UP * (now - this.filledAt));
    this.filledAt = now;
  }

  /**
   * Answers kept here that the server did not name, with their last seq. Nothing of them is sent unasked.
   * @param {Set<number>} wanted @param {number} upTo newer ones were opened since
   */
  async #unnamed(wanted, upTo) {
    const held = new Map([...this.all.values()].map(({ answer, next }) => [answer, next - 1]));
    for (const [answer, last] of (await this.store?.answers()) ?? []) {
      held.set(answer, Math.max(last, held.get(answer) ?? -1));
    }
    for (const answer of [...held.keys()]) {
      if (wanted.has(answer) || answer > upTo) held.delete(answer);
      else this.all.get(answer)?.park();
    }
    return held;
  }

  /** A closed answer takes nothing new. @param {Standing} standing */
  async #standLate(standing) {
    const asked = this.round;
    if (!this.store && (await this.storage) && !this.all.has(standing.answer)) return; // not to be read now: say nothing of it
    const outgoing = await this.#stand(standing);
    outgoing.closed = true;
    if (asked === this.round) this.pump();
  }

  /** @param {string} key */
  async #unlock(key) {
    const store = await this.storage;
    if (!this.store && store && (await store.unlock(key))) this.store = store;
  }

  /** A page that was loaded again goes on after the frames that it finds. @param {Standing} standing */
  async #stand(standing) {
    const { answer, next } = standing;
    let outgoing = this.all.get(answer);
    if (!outgoing || next > outgoing.next) {
      outgoing = new Outgoing(answer, this.store, next);
      await outgoing.restore(next);
      this.broken = true;
    } else if (next < outgoing.base) {
      await outgoing.restore(next);
    }
    this.#add(outgoing);
    outgoing.resume(standing);
    return outgoing;
  }

  /** @param {Outgoing} outgoing */
  #add(outgoing) {
    outgoing.onRead = () => this.pump();
    this.all.set(outgoing.answer, outgoing);
    return outgoing;
  }

  /** @param {Outgoing} outgoing */
  #captureInto(outgoing) {
    if (outgoing.answer === this.ended) outgoing.closed = true;
    if (outgoing.answer !== this.answer) {
      outgoing.closed = true; // the server went on meanwhile
      return;
    }
    if (this.current && this.current !== outgoing) this.current.closed = true;
    this.current = outgoing;
    if (!outgoing.closed) for (const frame of this.waiting.splice(0)) outgoing.take(frame);
    this.pump();
  }

  /** @param {(one: Outgoing) => number} value */
  #sum(value) {
    return [...this.all.values()].reduce((sum, one) => sum + value(one), 0);
  }
}
