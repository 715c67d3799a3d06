// One audio frame on the wire: 32-byte big-endian header, then PCM16LE mono at 16 kHz. Knows no socket.

export const SAMPLE_RATE = 16000;
export const HEADER_BYTES = 32;
export const VERSION = 1;
export const TYPE_AUDIO = 1;
export const FLAG_LAST = 1;
export const FLAG_DISCONTINUITY = 2;
const CRC_AT = 28;

const TABLE = new Uint32Array(256);
for (let byte = 0; byte < 256; byte += 1) {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  TABLE[byte] = value;
}

/**
 * CRC-32 as zlib computes it.
 * @param {Uint8Array} bytes
 * @returns {number} unsigned
 */
export function crc32(bytes) {
  let crc = 0xffffffff;
  for (let index = 0; index < bytes.length; index += 1) {
    crc = TABLE[(crc ^ bytes[index]) & 0xff] ^ (crc >>> 8);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

/**
 * @typedef {object} FrameFields
 * @property {number} answer
 * @property {number} seq counts from 0 in each answer
 * @property {number} captureUs monotonic time of the first sample
 * @property {number} flags
 * @property {Uint8Array} pcm
 */

/**
 * The same fields give the same bytes, so a frame sent again is recognised.
 * @param {FrameFields} fields
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function encodeFrame({ answer, seq, captureUs, flags, pcm }) {
  const bytes = new Uint8Array(HEADER_BYTES + pcm.length);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, VERSION);
  view.setUint8(1, TYPE_AUDIO);
  view.setUint16(2, flags);
  view.setUint32(4, answer);
  view.setBigUint64(8, BigInt(seq));
  view.setBigUint64(16, BigInt(Math.max(0, Math.round(captureUs))));
  view.setUint32(24, pcm.length);
  bytes.set(pcm, HEADER_BYTES);
  view.setUint32(CRC_AT, crc32(bytes)); // its own field is still zero here
  return bytes;
}
