// Any device rate to 16 kHz: a polyphase windowed-sinc low-pass, so that nothing above 8 kHz folds back.

const TARGET_HZ = 16000;
const HALF_WIDTH = 16; // zero crossings of the sinc on each side, at the lower of the two rates
const KAISER_BETA = 8; // about 80 dB of stop band
const PASS = 0.92; // the transition ends at the lower Nyquist frequency

/** @param {number} a @param {number} b @returns {number} */
function gcd(a, b) {
  return b === 0 ? a : gcd(b, a % b);
}

/** Modified Bessel function of the first kind, order 0. @param {number} x */
function bessel(x) {
  let sum = 1;
  let term = 1;
  for (let k = 1; term > sum * 1e-9; k += 1) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

/** @param {number} x */
function sinc(x) {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

export class Resampler {
  /** @param {number} sourceHz */
  constructor(sourceHz) {
    const divisor = gcd(Math.round(sourceHz), TARGET_HZ);
    this.up = TARGET_HZ / divisor;
    this.down = Math.round(sourceHz) / divisor;
    const scale = Math.min(1, TARGET_HZ / sourceHz);
    this.reach = Math.ceil(HALF_WIDTH / scale);
    this.phases = this.#filters(scale * PASS);
    /** Input not yet left behind; starts with silence so that the first sample can be an output's centre. */
    this.history = new Float32Array(this.reach);
    this.position = this.reach; // index in history of the next output's centre, whole part
    this.phase = 0; // and its fraction, in units of 1 / up
  }

  /** @param {number} cutoff as a share of the source's Nyquist frequency @returns {Float32Array[]} */
  #filters(cutoff) {
    const edge = bessel(KAISER_BETA);
    return Array.from({ length: this.up }, (_, phase) => {
      const taps = new Float32Array(2 * this.reach);
      let sum = 0;
      for (let tap = 0; tap < taps.length; tap += 1) {
        const distance = tap - this.reach + 1 - phase / this.up;
        const window = bessel(KAISER_BETA * Math.sqrt(Math.max(0, 1 - (distance / this.reach) ** 2))) / edge;
        taps[tap] = sinc(distance * cutoff) * window;
        sum += taps[tap];
      }
      return taps.map((tap) => tap / sum);
    });
  }

  /**
   * @param {Float32Array} input samples at the source's rate
   * @returns {Float32Array} what can be said so far at 16 kHz; later than the input by `reach` samples
   */
  process(input) {
    const samples = new Float32Array(this.history.length + input.length);
    samples.set(this.history);
    samples.set(input, this.history.length);
    /** @type {number[]} */
    const output = [];
    while (this.position + this.reach < samples.length) {
      output.push(this.#at(samples));
      this.phase += this.down;
      this.position += Math.floor(this.phase / this.up);
      this.phase %= this.up;
    }
    const kept = Math.max(0, this.position - this.reach);
    this.history = samples.slice(kept);
    this.position -= kept;
    return Float32Array.from(output);
  }

  /** @param {Float32Array} samples */
  #at(samples) {
    const taps = this.phases[this.phase];
    const first = this.position - this.reach + 1;
    let sum = 0;
    for (let tap = 0; tap < taps.length; tap += 1) sum += taps[tap] * samples[first + tap];
    return sum;
  }
}
