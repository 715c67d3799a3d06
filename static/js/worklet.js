// In the audio thread: microphone samples to 16 kHz PCM16 frames with their level. Knows no socket and no page.
import { Resampler } from "./resampler.js";

const TARGET_HZ = 16000;

class Capture extends AudioWorkletProcessor {
  constructor() {
    super();
    this.resampler = new Resampler(sampleRate);
    this.setFrame(100);
    this.port.onmessage = ({ data }) => {
      if (data.flush !== undefined) this.emit(data.flush);
      if (data.frameMs) this.changeFrame(data.frameMs);
    };
  }

  /** @param {number} frameMs */
  setFrame(frameMs) {
    this.frame = new Int16Array((TARGET_HZ / 1000) * frameMs);
    this.filled = 0;
    this.energy = 0;
    this.peak = 0;
    this.startS = currentTime;
  }

  /** Samples gathered so far move into a frame of the new length. @param {number} frameMs */
  changeFrame(frameMs) {
    const gathered = this.frame.slice(0, this.filled);
    this.setFrame(frameMs);
    for (const sample of gathered) this.add(sample / 32767);
  }

  /** Post what has been gathered. @param {number | null} flush the request this answers */
  emit(flush) {
    const pcm = this.frame.slice(0, this.filled);
    const level = this.filled ? Math.sqrt(this.energy / this.filled) : 0;
    this.port.postMessage(
      { pcm: pcm.buffer, level, peak: this.peak, captureUs: this.startS * 1e6, flush },
      [pcm.buffer],
    );
    this.filled = 0;
    this.energy = 0;
    this.peak = 0;
  }

  /** @param {number} sample */
  add(sample) {
    if (this.filled === 0) this.startS = currentTime;
    const clipped = Math.max(-1, Math.min(1, sample));
    this.frame[this.filled] = Math.round(clipped * 32767);
    this.energy += clipped * clipped;
    this.peak = Math.max(this.peak, Math.abs(clipped));
    this.filled += 1;
    if (this.filled === this.frame.length) this.emit(null);
  }

  /** @param {Float32Array[][]} inputs */
  process(inputs) {
    const channels = inputs[0];
    if (channels.length) {
      for (const sample of this.resampler.process(mono(channels))) this.add(sample);
    }
    return true;
  }
}

/** @param {Float32Array[]} channels */
function mono(channels) {
  if (channels.length === 1) return channels[0];
  return channels[0].map((_, index) => channels.reduce((sum, one) => sum + one[index], 0) / channels.length);
}

registerProcessor("viva-capture", Capture);
