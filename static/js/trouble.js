// What is wrong with the sound of the open answer, told in the strip with what can be done about it. Decides nothing:
// what was said goes up whatever is told here.
import { say } from "./catalog.js";
import { stripKey } from "./controls.js";

const UNHEARD_AFTER_S = 10;
const BEHIND_MS = 2000; // the server has not heard what was said since

/** Counts sound without a voice while an answer could begin. Asks once a question, and of nobody who has spoken. */
export class VoiceWatch {
  constructor() {
    this.quietS = 0;
    this.asked = false;
  }

  /** A question opens. */
  begin() {
    this.quietS = 0;
    this.asked = false;
  }

  /** Nobody knows whether there was a voice. */
  interrupt() {
    this.quietS = 0;
  }

  /** @param {number} seconds of sound in which no voice was found @returns {boolean} this is the moment to ask */
  waited(seconds) {
    this.quietS += seconds;
    if (this.asked || this.quietS < UNHEARD_AFTER_S) return false;
    this.asked = true;
    return true;
  }
}

export class SoundTrouble {
  /** @param {import("./live.js").LivePage} page */
  constructor(page) {
    this.page = page;
    this.voice = new VoiceWatch();
  }

  /** @param {import("./microphone.js").Problem | null} problem @param {string} device */
  microphone(problem, device) {
    const { page } = this;
    if (problem === "ended" || problem === "interrupted") page.answering.uplink.gap();
    page.facts.problem = problem;
    page.facts.microphone = page.microphone.running;
    this.#name(device);
    if (problem !== null) page.strip(`microphone_${problem}`, this.#remedies(problem));
    else if (stripKey().startsWith("microphone_")) page.strip("");
    else return;
    page.show();
  }

  /** @param {boolean} loud @param {string} device */
  loud(loud, device) {
    this.#name(device);
    this.#hint("sound_loud", loud);
  }

  /** A question opens. */
  opened() {
    this.voice.begin();
    this.#hint("sound_unheard", false);
  }

  /** There is a voice. */
  heard() {
    this.#hint("sound_unheard", false);
  }

  /** Sound was captured, and sent. @param {number} seconds */
  captured(seconds) {
    const { facts, answering, frameMs, microphone } = this.page;
    if (facts.link !== "live" || answering.uplink.unsaved * frameMs > BEHIND_MS) this.voice.interrupt();
    else if (facts.turn === "open" && facts.problem === null && this.voice.waited(seconds)) {
      this.#name(microphone.label);
      this.#hint("sound_unheard", true);
    }
  }

  /** The server says what is wrong. @param {string} code */
  told(code) {
    const { page } = this;
    if (code === "too_late") page.textRefused();
    this.#name(page.microphone.label);
    const wrongSpeed = { reload: () => location.reload(), type_instead: () => page.type(true) };
    page.strip(`problem_${code}`, code === "rate_mismatch" ? wrongSpeed : {});
  }

  /** @param {import("./microphone.js").Problem} problem @returns {Record<string, () => void>} */
  #remedies(problem) {
    const { page } = this;
    if (problem === "suspended") return { turn_on: () => page.microphone.resume() };
    const type = { type_instead: () => page.type(true) };
    if (problem === "silent" || problem === "insecure" || problem === "unsupported") return type;
    return { turn_on: () => page.openMicrophone(), ...type };
  }

  /** Something that may be so: never in the place of what is. @param {string} key @param {boolean} shown */
  #hint(key, shown) {
    if (shown && (stripKey() === "" || stripKey().startsWith("sound_"))) {
      this.page.strip(key, { type_instead: () => this.page.type(true) });
    } else if (!shown && stripKey() === key) {
      this.page.strip("");
    }
  }

  /** @param {string} device */
  #name(device) {
    this.page.facts.device = device || say("your_microphone");
  }
}
