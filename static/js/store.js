// Frames on this device until the server has the whole answer: one IndexedDB, sealed records keyed by interview,
// answer and seq, written in batches. Knows no socket.
import { Cipher } from "./cipher.js";

/** @typedef {import("./outgoing.js").Captured} Captured */

const DATABASE = "viva";
const FRAMES = "frames";
const BATCH_MS = 200;
const OPEN_MS = 3000;
const HELD_FRAMES = 36000; // 60 min of 100 ms frames
const LEFTOVER_MS = 24 * 3600 * 1000;
const HEAD_BYTES = 18; // captureUs u64, atMs f64, flags u16

/** @param {Captured} frame @returns {Uint8Array<ArrayBuffer>} */
function packed({ pcm, captureUs, flags, atMs }) {
  const bytes = new Uint8Array(HEAD_BYTES + pcm.length);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(Math.max(0, Math.round(captureUs))));
  view.setFloat64(8, atMs);
  view.setUint16(16, flags);
  bytes.set(pcm, HEAD_BYTES);
  return bytes;
}

/** @param {Uint8Array<ArrayBuffer>} bytes @returns {Captured} */
function unpacked(bytes) {
  const view = new DataView(bytes.buffer);
  return {
    captureUs: Number(view.getBigUint64(0)), atMs: view.getFloat64(8), flags: view.getUint16(16),
    pcm: bytes.subarray(HEAD_BYTES),
  };
}

/** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** @param {IDBTransaction} transaction @returns {Promise<void>} */
function committed(transaction) {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
  });
}

/** @returns {Promise<IDBDatabase | null>} null where this browser keeps nothing, a private window for example */
async function database() {
  if (!globalThis.indexedDB || !globalThis.crypto?.subtle) return null;
  try {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(FRAMES).createIndex("at", "at");
    const late = new Promise((_, reject) => { setTimeout(() => reject(new Error("blocked")), OPEN_MS); });
    const opened = await Promise.race([done(request), late]);
    opened.onversionchange = () => opened.close();
    return opened;
  } catch {
    return null;
  }
}

/** @param {string} interview @param {number} [answer] @param {number} [from] @returns {IDBKeyRange} */
function range(interview, answer, from = 0) {
  if (answer === undefined) return IDBKeyRange.bound([interview], [interview, []]);
  return IDBKeyRange.bound([interview, answer, from], [interview, answer, []]);
}

export class FrameStore {
  /** @param {IDBDatabase} db @param {string} interview */
  constructor(db, interview) {
    this.db = db;
    this.interview = interview;
    /** @type {Cipher | null} */
    this.cipher = null;
    /** @type {{answer: number, seq: number, frame: Captured, stored: () => void}[]} */
    this.queue = [];
    this.timer = 0;
    this.writing = Promise.resolve();
    this.held = 0;
    this.refused = false; // the device took no more at the last try
    /** @type {Set<number>} answers that nobody needs any more */
    this.gone = new Set();
  }

  /** @param {string} interview @returns {Promise<FrameStore | null>} */
  static async open(interview) {
    const db = await database();
    if (!db) return null;
    const store = new FrameStore(db, interview);
    try {
      await forgetLeftovers(db);
      store.held = await done(store.#frames("readonly").count(range(interview)));
      return store;
    } catch {
      return null;
    }
  }

  /** @param {string} key of the welcome @returns {Promise<boolean>} whether frames can be kept from now on */
  async unlock(key) {
    this.cipher = await Cipher.from(key);
    return this.cipher !== null;
  }

  /** @param {number} answer @param {number} seq @param {Captured} frame @param {() => void} stored called once the device has it */
  put(answer, seq, frame, stored) {
    if (this.held + this.queue.length >= HELD_FRAMES) {
      this.refused = true;
      return;
    }
    this.queue.push({ answer, seq, frame, stored });
    this.timer ||= setTimeout(() => this.flush(), BATCH_MS);
  }

  /** @returns {Promise<void>} when everything put so far is on the device, or was refused */
  flush() {
    clearTimeout(this.timer);
    this.timer = 0;
    const batch = this.queue;
    this.queue = [];
    if (batch.length) this.writing = this.writing.then(() => this.#write(batch));
    return this.writing;
  }

  /** @param {number} answer @param {number} from @returns {Promise<number[]>} the seqs kept, in order */
  async seqs(answer, from) {
    await this.flush();
    const keys = await this.#keys(range(this.interview, answer, from));
    return keys.map((key) => /** @type {number} */ (/** @type {unknown[]} */ (key)[2]));
  }

  /** @param {number} answer @param {number} from @param {number} count @returns {Promise<Map<number, Captured | null>>} null: it cannot be read */
  async read(answer, from, count) {
    const keys = IDBKeyRange.bound([this.interview, answer, from], [this.interview, answer, from + count - 1]);
    const frames = this.#frames("readonly");
    const [found, values] = await Promise.all([done(frames.getAllKeys(keys)), done(frames.getAll(keys))]);
    const opened = found.map(async (key, index) => {
      const seq = /** @type {number} */ (/** @type {unknown[]} */ (key)[2]);
      const bytes = await this.cipher?.open(this.#place(answer, seq), values[index]);
      return /** @type {const} */ ([seq, bytes ? unpacked(bytes) : null]);
    });
    return new Map(await Promise.all(opened));
  }

  /** The server has the answer for good. @param {number} answer */
  async forget(answer) {
    this.gone.add(answer);
    this.queue = this.queue.filter((item) => item.answer !== answer);
    await this.writing;
    await this.#remove(range(this.interview, answer));
  }

  /** @returns {Promise<Map<number, number>>} the answers that frames are kept of, and the last seq of each */
  async answers() {
    const keys = await this.#keys(range(this.interview));
    return new Map(keys.map((key) => {
      const [, answer, seq] = /** @type {[string, number, number]} */ (key);
      return [answer, seq];
    }));
  }

  /** Nothing of this interview stays here. */
  async forgetAll() {
    this.queue = [];
    await this.writing;
    await this.#remove(range(this.interview));
  }

  /** A device that fails keeps nothing: the interview goes on without it. @param {IDBKeyRange} keys @returns {Promise<IDBValidKey[]>} */
  async #keys(keys) {
    try {
      return await done(this.#frames("readonly").getAllKeys(keys));
    } catch {
      this.refused = true;
      return [];
    }
  }

  /** @param {IDBKeyRange} keys */
  async #remove(keys) {
    try {
      const transaction = this.db.transaction(FRAMES, "readwrite");
      transaction.objectStore(FRAMES).delete(keys);
      await committed(transaction);
      this.held = await done(this.#frames("readonly").count(range(this.interview)));
      this.refused = false;
    } catch {
      // a browser that cannot forget now does so with the leftovers
    }
  }

  /** @param {{answer: number, seq: number, frame: Captured, stored: () => void}[]} batch */
  async #write(batch) {
    const { cipher } = this;
    if (!cipher) return;
    try {
      const sealed = await Promise.all(
        batch.map(({ answer, seq, frame }) => cipher.seal(this.#place(answer, seq), packed(frame))),
      );
      const transaction = this.db.transaction(FRAMES, "readwrite", { durability: "relaxed" });
      const frames = transaction.objectStore(FRAMES);
      batch.forEach(({ answer, seq }, index) => {
        if (!this.gone.has(answer)) frames.put({ ...sealed[index], at: Date.now() }, [this.interview, answer, seq]);
      });
      await committed(transaction);
      this.held += batch.length;
      this.refused = false;
      for (const { stored } of batch) stored();
    } catch {
      this.refused = true; // no room, or the disk fails: the frames stay in memory as far as they fit
    }
  }

  /** @param {IDBTransactionMode} mode */
  #frames(mode) {
    return this.db.transaction(FRAMES, mode).objectStore(FRAMES);
  }

  /** @param {number} answer @param {number} seq */
  #place(answer, seq) {
    return `${this.interview}/${answer}/${seq}`;
  }
}

/** @param {IDBDatabase} db */
async function forgetLeftovers(db) {
  const transaction = db.transaction(FRAMES, "readwrite");
  const frames = transaction.objectStore(FRAMES);
  const old = IDBKeyRange.upperBound(Date.now() - LEFTOVER_MS);
  for (const key of await done(frames.index("at").getAllKeys(old))) frames.delete(key);
  await committed(transaction);
}

/** @returns {Promise<string[]>} the interviews that frames are kept of */
export async function interviewsKept() {
  const db = await database();
  if (!db) return [];
  /** @type {string[]} */
  const found = [];
  try {
    await forgetLeftovers(db);
    for (;;) {
      const after = found.length ? IDBKeyRange.lowerBound([found.at(-1), []], true) : undefined;
      const cursor = await done(db.transaction(FRAMES).objectStore(FRAMES).openKeyCursor(after));
      if (!cursor) return found;
      found.push(/** @type {string} */ (/** @type {unknown[]} */ (cursor.key)[0]));
    }
  } catch {
    return found;
  } finally {
    db.close();
  }
}
