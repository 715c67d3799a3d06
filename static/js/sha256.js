// SHA-256 that grows with what it is fed: the browser's own needs the whole recording at once.

const ROUND = Uint32Array.from(constants(64, 1 / 3));
const START = Uint32Array.from(constants(8, 1 / 2));
const BLOCK_BYTES = 64;

/** First 32 bits of the fractional parts of roots of the first primes. @param {number} count @param {number} power */
function constants(count, power) {
  /** @type {number[]} */
  const primes = [];
  for (let candidate = 2; primes.length < count; candidate += 1) {
    if (primes.every((prime) => candidate % prime)) primes.push(candidate);
  }
  return primes.map((prime) => ((prime ** power) % 1) * 2 ** 32);
}

/** @param {number} value @param {number} bits */
function rotate(value, bits) {
  return (value >>> bits) | (value << (32 - bits));
}

export class Sha256 {
  constructor() {
    this.state = START.slice();
    this.block = new Uint8Array(BLOCK_BYTES);
    this.words = new Uint32Array(64);
    this.length = 0;
  }

  /** @param {Uint8Array} bytes */
  update(bytes) {
    let at = 0;
    while (at < bytes.length) {
      const filled = this.length % BLOCK_BYTES;
      const piece = bytes.subarray(at, at + BLOCK_BYTES - filled);
      this.block.set(piece, filled);
      this.length += piece.length;
      at += piece.length;
      if (this.length % BLOCK_BYTES === 0) this.#compress();
    }
  }

  /** Of everything so far; nothing can be added afterwards. @returns {string} hex */
  digest() {
    const bits = this.length * 8;
    const padding = new Uint8Array(((this.length % BLOCK_BYTES < 56 ? 56 : 120) - (this.length % BLOCK_BYTES)) + 8);
    padding[0] = 0x80;
    new DataView(padding.buffer).setBigUint64(padding.length - 8, BigInt(bits));
    this.update(padding);
    return Array.from(this.state, (word) => word.toString(16).padStart(8, "0")).join("");
  }

  #compress() {
    const { words, state } = this;
    const view = new DataView(this.block.buffer);
    for (let i = 0; i < 16; i += 1) words[i] = view.getUint32(i * 4);
    for (let i = 16; i < 64; i += 1) {
      const near = words[i - 2];
      const far = words[i - 15];
      const s0 = rotate(far, 7) ^ rotate(far, 18) ^ (far >>> 3);
      const s1 = rotate(near, 17) ^ rotate(near, 19) ^ (near >>> 10);
      words[i] = words[i - 16] + s0 + words[i - 7] + s1;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i += 1) {
      const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
      const one = (h + s1 + ((e & f) ^ (~e & g)) + ROUND[i] + words[i]) | 0;
      const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
      const two = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((value, i) => { state[i] += value; });
  }
}
