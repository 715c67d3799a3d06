// In the audio thread: microphone samples to 16 kHz PCM16 frames with their level. Knows no socket and no page.
import { clipped, HighPass, mono } from "./conditioning.js";
import { Resampler } from "./resampler.js";

const TARGET_HZ = 16000;

class Capture extends AudioWorkletProcessor {
  constructor() {
    super();
    this.highPass = new HighPass(sampleRate);
    this.resampler = new Resampler(sampleRate);
    this.clipped = 0; // samples of the device since the last frame
    this.taken = 0;
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
    const share = this.taken ? this.clipped / this.taken : 0;
    this.port.postMessage(
      { pcm: pcm.buffer, level, peak: this.peak, clipped: share, captureUs: this.startS * 1e6, flush },
      [pcm.buffer],
    );
    this.clipped = 0;
    this.taken = 0;
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
      this.clipped += clipped(channels);
      this.taken += channels[0].length;
      for (const sample of this.resampler.process(this.highPass.process(mono(channels)))) this.add(sample);
    }
    return true;
  }
}

registerProcessor("viva-capture", Capture);
