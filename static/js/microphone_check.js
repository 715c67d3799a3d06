// The microphone check: permission, device, level, a short play-back. Nothing leaves the page.
import { part, say } from "./catalog.js";
import { LevelMeter } from "./level.js";
import { chooseDevice, chosenDevice, Microphone, microphones, unavailable } from "./microphone.js";
import { pcmToWav } from "./wav.js";

const HEARD_LEVEL = 0.12;
const HEARD_TIMES = 3; // three loud tenths of a second: more than a click
const SAMPLE_MS = 3000;

class MicrophoneCheck {
  constructor() {
    this.loud = 0;
    /** @type {Uint8Array[] | null} */
    this.sample = null;
    this.ring = new LevelMeter(part("microphone"));
    this.bar = new LevelMeter(part("level-bar"));
    this.microphone = new Microphone(part("check").dataset.worklet || "", {
      onFrame: (pcm) => this.sample?.push(pcm),
      onLevel: (level) => this.level(level),
      onProblem: (problem, device) => this.problem(problem, device),
      onLoud: (loud, device) => this.tooLoud(loud, device),
    });
  }

  start() {
    part("turn-on").addEventListener("click", () => this.turnOn());
    part("device").addEventListener("change", () => this.choose());
    part("record").addEventListener("click", () => this.record());
    addEventListener("pagehide", () => this.microphone.stop());
    const none = unavailable();
    if (none) this.problem(none, "");
  }

  async turnOn() {
    part("check-state").textContent = say("asking");
    const running = await this.microphone.start();
    if (!running) return;
    part("before").hidden = true;
    part("after").hidden = false;
    part("start").hidden = false;
    part("microphone").classList.remove("off");
    part("check-state").textContent = say("say_something");
    await this.devices();
  }

  async devices() {
    const list = part("device");
    const found = await microphones();
    list.replaceChildren(
      ...found.map((device, index) => {
        const option = document.createElement("option");
        option.value = device.deviceId;
        option.textContent = device.label || say("microphone", { number: index + 1 });
        option.selected = device.deviceId === chosenDevice() || device.label === this.microphone.label;
        return option;
      }),
    );
    part("device-field").hidden = false;
    part("check-hint").textContent = this.microphone.label;
  }

  async choose() {
    const { value } = /** @type {HTMLSelectElement} */ (part("device"));
    chooseDevice(value);
    this.microphone.stop();
    this.loud = 0;
    part("check-state").textContent = say("say_something");
    await this.microphone.start(value);
    part("check-hint").textContent = this.microphone.label;
  }

  /** @param {number} level */
  level(level) {
    this.ring.show(level);
    this.bar.show(level);
    if (level < HEARD_LEVEL || this.loud >= HEARD_TIMES || this.microphone.tooLoud) return;
    this.loud += 1;
    if (this.loud < HEARD_TIMES) return;
    part("check-state").textContent = say("heard");
  }

  async record() {
    const button = /** @type {HTMLButtonElement} */ (part("record"));
    button.disabled = true;
    button.textContent = say("recording");
    this.sample = [];
    await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
    const url = URL.createObjectURL(pcmToWav(this.sample, 16000));
    this.sample = null;
    button.textContent = say("playing");
    const audio = new Audio(url);
    const over = new Promise((resolve) => {
      audio.addEventListener("ended", resolve);
      audio.addEventListener("error", resolve);
    });
    await audio.play().then(() => over, () => {});
    URL.revokeObjectURL(url);
    button.disabled = false;
    button.textContent = say("record");
  }

  /** @param {boolean} loud @param {string} device */
  tooLoud(loud, device) {
    if (this.microphone.problem !== null) return; // worse, and said already
    this.loud = 0;
    part("check-state").textContent = say("say_something");
    part("problem").hidden = !loud;
    part("problem").textContent = say("sound_loud", { device: device || say("your_microphone") });
  }

  /** @param {string | null} problem @param {string} device */
  problem(problem, device) {
    const box = part("problem");
    box.hidden = problem === null;
    if (problem === null) return;
    box.textContent = say(`microphone_${problem}`, { device: device || say("your_microphone") });
    const off = !this.microphone.running;
    part("microphone").classList.toggle("off", off);
    part("before").hidden = !off || problem === "insecure" || problem === "unsupported";
    part("after").hidden = off;
    part("start").hidden = off;
    if (!off) return;
    part("turn-on").textContent = say("try_again");
    part("check-state").textContent = "";
    part("check-hint").textContent = "";
  }
}

new MicrophoneCheck().start();
