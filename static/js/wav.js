// PCM16 mono pieces as a WAV that an <audio> element plays.

/** @param {Uint8Array[]} pieces @param {number} rate @returns {Blob} */
export function pcmToWav(pieces, rate) {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const view = new DataView(new ArrayBuffer(44));
  /** @param {number} at @param {string} text */
  const write = (at, text) => [...text].forEach((char, index) => view.setUint8(at + index, char.charCodeAt(0)));
  write(0, "RIFF");
  view.setUint32(4, 36 + length, true);
  write(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true); // PCM
  view.setUint16(22, 1, true); // mono
  view.setUint32(24, rate, true);
  view.setUint32(28, rate * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  write(36, "data");
  view.setUint32(40, length, true);
  return new Blob([view.buffer, ...pieces.map((piece) => new Uint8Array(piece))], { type: "audio/wav" });
}
