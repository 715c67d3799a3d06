// What a microphone's samples need before they are speech: one channel, no offset. And whether they are cut off at the
// top. Knows no browser.

const HIGH_PASS_HZ = 20; // below any voice
const CLIPPED = 0.985; // converters and drivers stop a little below full scale

/** @param {Float32Array[]} channels @returns {Float32Array} their mean */
export function mono(channels) {
  if (channels.length === 1) return channels[0];
  return channels[0].map((_, index) => channels.reduce((sum, one) => sum + one[index], 0) / channels.length);
}

/** @param {Float32Array[]} channels @returns {number} samples at which one of them is at its limit */
export function clipped(channels) {
  let count = 0;
  for (let index = 0; index < channels[0].length; index += 1) {
    let peak = 0;
    for (const one of channels) peak = Math.max(peak, Math.abs(one[index]));
    if (peak >= CLIPPED) count += 1;
  }
  return count;
}

/** Takes away a constant offset, which would look like a loud sound. */
export class HighPass {
  /** @param {number} sampleHz */
  constructor(sampleHz) {
    this.pole = Math.exp((-2 * Math.PI * HIGH_PASS_HZ) / sampleHz);
    /** @type {number | null} */
    this.input = null;
    this.output = 0;
  }

  /** @param {Float32Array} samples @returns {Float32Array} */
  process(samples) {
    return samples.map((sample) => {
      this.output = sample - (this.input ?? sample) + this.pole * this.output;
      this.input = sample;
      return this.output;
    });
  }
}
