// The microphone: permission, device, frames, level, and what can go wrong with it. Knows no socket and no page.
import { Loudness } from "./loudness.js";

/**
 * @typedef {"insecure" | "unsupported" | "denied" | "missing" | "busy" | "failed" | "ended" | "interrupted" | "silent" | "suspended"} Problem
 * @typedef {object} Handlers
 * @property {(pcm: Uint8Array, captureUs: number, flushed: boolean) => void} [onFrame] flushed: maybe a short one
 * @property {(level: number) => void} [onLevel] 0 to 1, about ten times a second
 * @property {(problem: Problem | null, device: string) => void} [onProblem] null: it is over
 * @property {(loud: boolean, device: string) => void} [onLoud] the voice is too loud for it, or no longer
 */

const SILENT_AFTER_MS = 3000;
const SILENT_PEAK = 0.0005; // below the noise of any open microphone
const DEVICE_CHANGE_MS = 400;
const FLUSH_WAIT_MS = 250;
const DEVICE_KEY = "viva.microphone";

/** @param {unknown} error @returns {Problem} */
export function problemOf(error) {
  const name = error instanceof Error ? error.name : "";
  if (name === "NotAllowedError" || name === "SecurityError") return "denied";
  if (name === "NotFoundError" || name === "OverconstrainedError") return "missing";
  if (name === "NotReadableError" || name === "AbortError") return "busy";
  return "failed";
}

/** @returns {Problem | null} why this page cannot have a microphone at all */
export function unavailable() {
  if (!globalThis.isSecureContext) return "insecure";
  if (!navigator.mediaDevices?.getUserMedia || !globalThis.AudioWorkletNode) return "unsupported";
  return null;
}

/** @returns {Promise<MediaDeviceInfo[]>} */
export async function microphones() {
  const devices = await navigator.mediaDevices.enumerateDevices();
  return devices.filter((device) => device.kind === "audioinput" && device.deviceId);
}

/** @returns {string} the device chosen at the check, kept for this tab */
export function chosenDevice() {
  try {
    return sessionStorage.getItem(DEVICE_KEY) || "";
  } catch {
    return "";
  }
}

/** @param {string} deviceId */
export function chooseDevice(deviceId) {
  try {
    sessionStorage.setItem(DEVICE_KEY, deviceId);
  } catch {
    // without storage the system's default is used on the next page
  }
}

export class Microphone {
  /** @param {string} workletUrl @param {Handlers} handlers */
  constructor(workletUrl, handlers) {
    this.workletUrl = workletUrl;
    this.handlers = handlers;
    this.label = "";
    this.muted = false;
    this.frameMs = 100;
    /** @type {MediaStream | null} */
    this.stream = null;
    /** @type {AudioContext | null} */
    this.context = null;
    /** @type {Promise<void> | null} the context has the worklet */
    this.loaded = null;
    /** @type {AudioWorkletNode | null} */
    this.node = null;
    this.wanted = false;
    this.loudAt = 0;
    this.loudness = new Loudness();
    this.tooLoud = false;
    /** @type {Problem | null} */
    this.problem = null;
    /** @type {Map<number, () => void>} */
    this.flushes = new Map();
    this.flushCount = 0;
    this.deviceTimer = 0;
    this.onDeviceChange = () => {
      clearTimeout(this.deviceTimer);
      this.deviceTimer = setTimeout(() => this.#deviceChanged(), DEVICE_CHANGE_MS);
    };
  }

  get running() {
    return this.stream !== null;
  }

  /**
   * Ask for the microphone and begin. Problems go to onProblem.
   * @param {string} [deviceId]
   * @returns {Promise<boolean>}
   */
  async start(deviceId = chosenDevice()) {
    this.wanted = true;
    const none = unavailable();
    if (none) {
      this.#tell(none);
      return false;
    }
    this.context ??= new AudioContext(); // still within the tap: some browsers keep one silent that is made later
    try {
      const stream = await this.#open(deviceId);
      if (!this.wanted) {
        stream.getTracks().forEach((track) => track.stop());
        return false;
      }
      await this.#use(stream).catch((error) => { throw new Error(String(error)); }); // not the device's fault
    } catch (error) {
      if (this.node === null) this.#letGo(); // a light without a use
      this.#tell(problemOf(error));
      return false;
    }
    navigator.mediaDevices.addEventListener("devicechange", this.onDeviceChange);
    return true;
  }

  /** The light goes off at once. */
  stop() {
    this.wanted = false;
    navigator.mediaDevices?.removeEventListener("devicechange", this.onDeviceChange);
    clearTimeout(this.deviceTimer);
    this.#letGo();
  }

  /** While muted nothing is sent, so the silence does not count. @param {boolean} muted */
  mute(muted) {
    this.muted = muted;
    this.loudAt = performance.now();
    this.stream?.getAudioTracks().forEach((track) => { track.enabled = !muted; });
    if (muted) {
      this.handlers.onLevel?.(0);
      if (this.problem === "silent") this.#tell(null);
    }
  }

  /** @param {number} frameMs */
  setFrame(frameMs) {
    this.frameMs = frameMs;
    this.node?.port.postMessage({ frameMs });
  }

  /** Hand over the samples gathered since the last whole frame. @returns {Promise<void>} */
  flush() {
    const node = this.node;
    if (!node) return Promise.resolve();
    this.flushCount += 1;
    const id = this.flushCount;
    return new Promise((resolve) => {
      this.flushes.set(id, resolve);
      node.port.postMessage({ flush: id });
      setTimeout(() => this.#flushed(id), FLUSH_WAIT_MS); // a stalled audio thread must not hold the answer
    });
  }

  /** Needs a user's tap on some browsers. @returns {Promise<void>} */
  async resume() {
    await this.context?.resume();
    if (this.context?.state === "running" && this.problem === "suspended") this.#tell(null);
  }

  /** @param {string} deviceId */
  async #open(deviceId) {
    const audio = { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true };
    try {
      return await navigator.mediaDevices.getUserMedia({
        audio: deviceId ? { ...audio, deviceId: { exact: deviceId } } : audio,
      });
    } catch (error) {
      if (!deviceId || problemOf(error) !== "missing") throw error;
      return navigator.mediaDevices.getUserMedia({ audio }); // the chosen one was unplugged
    }
  }

  /** @param {MediaStream} stream */
  async #use(stream) {
    this.#release();
    this.stream = stream;
    const [track] = stream.getAudioTracks();
    this.label = track.label;
    track.enabled = !this.muted;
    track.addEventListener("ended", () => this.stream === stream && this.#lost());
    track.addEventListener("mute", () => this.stream === stream && this.#tell("interrupted")); // a call, a locked screen
    track.addEventListener("unmute", () => this.stream === stream && this.#over("interrupted"));
    const context = (this.context ??= new AudioContext());
    await (this.loaded ??= context.audioWorklet.addModule(this.workletUrl));
    const node = new AudioWorkletNode(context, "viva-capture");
    node.port.onmessage = ({ data }) => this.#heard(data);
    node.port.postMessage({ frameMs: this.frameMs });
    context.createMediaStreamSource(stream).connect(node);
    node.connect(context.destination); // it stays silent; some browsers only run nodes that lead somewhere
    this.node = node;
    this.loudAt = performance.now();
    this.#tell(null);
    if (context.state !== "running") await this.#wake();
  }

  async #wake() {
    const context = this.context;
    if (!context) return;
    await Promise.race([context.resume(), new Promise((resolve) => setTimeout(resolve, 500))]);
    if (context.state !== "running") this.#tell("suspended");
  }

  /** @param {{pcm: ArrayBuffer, level: number, peak: number, clipped: number, captureUs: number, flush: number | null}} data */
  #heard({ pcm, level, peak, clipped, captureUs, flush }) {
    if (!this.muted) {
      if (pcm.byteLength) this.handlers.onFrame?.(new Uint8Array(pcm), captureUs, flush !== null);
      if (flush === null) this.#measure(level, peak, clipped);
    }
    if (flush !== null) this.#flushed(flush);
  }

  /** @param {number} level @param {number} peak @param {number} clipped */
  #measure(level, peak, clipped) {
    this.handlers.onLevel?.(Math.min(1, level * 6));
    const now = performance.now();
    const loud = this.loudness.heard(clipped, now);
    if (loud !== this.tooLoud) this.handlers.onLoud?.(loud, this.label);
    this.tooLoud = loud;
    if (peak > SILENT_PEAK) {
      this.loudAt = now;
      if (this.problem !== null) this.#over("silent", "suspended", "interrupted");
    } else if (now - this.loudAt > SILENT_AFTER_MS && this.problem === null) {
      this.#tell("silent");
    }
  }

  /** @param {number} id */
  #flushed(id) {
    this.flushes.get(id)?.();
    this.flushes.delete(id);
  }

  #release() {
    this.node?.disconnect();
    this.node = null;
    this.stream?.getTracks().forEach((track) => track.stop());
    this.stream = null;
  }

  #letGo() {
    this.#release();
    this.context?.close();
    this.context = null;
    this.loaded = null;
  }

  #lost() {
    this.#release();
    this.#tell("ended");
    this.onDeviceChange(); // another one may be there already
  }

  async #deviceChanged() {
    if (!this.wanted || this.running) return;
    await this.start("");
  }

  /** @param {Problem[]} problems */
  #over(...problems) {
    if (this.problem !== null && problems.includes(this.problem)) this.#tell(null);
  }

  /** @param {Problem | null} problem */
  #tell(problem) {
    if (problem === this.problem && problem === null) return;
    this.problem = problem;
    this.handlers.onProblem?.(problem, this.label);
  }
}
