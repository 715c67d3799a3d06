// The buttons and keys of the interview page: what each does now, how it is named and whether it can be used.
import { part, say } from "./catalog.js";

const STOPPED = ["superseded", "refused", "finished", "gone"];
const ANSWERING = ["open", "speaking", "paused", "thinking"];

/**
 * @typedef {object} Actions
 * @property {() => void} done
 * @property {() => void} think
 * @property {() => void} mute
 * @property {() => void} holdMode talk with a key held, or freely
 * @property {(down: boolean) => void} hold
 * @property {() => boolean} holds whether Space is the key to hold
 * @property {() => void} type
 * @property {() => void} skip
 * @property {() => void} finish
 * @property {() => void} sheet
 * @property {() => boolean} spoke something was said, so that Space may end the answer
 */

/** @param {Actions} actions */
export function bindControls(actions) {
  /** @param {string} id @param {() => void} act */
  const on = (id, act) => part(id).addEventListener("click", act);
  on("done", actions.done);
  on("think", actions.think);
  on("mute", actions.mute);
  on("hold-mode", actions.holdMode);
  on("type", actions.type);
  on("skip", actions.skip);
  on("finish", () => /** @type {HTMLDialogElement} */ (part("finish-dialog")).showModal());
  on("finish-yes", actions.finish);
  on("sheet-toggle", actions.sheet);
  addEventListener("keydown", (event) => {
    if (isHoldKey(event) && actions.holds()) {
      event.preventDefault(); // nor does it scroll, or press the button it is on
      if (!event.repeat) actions.hold(true);
      return;
    }
    // Ctrl or Cmd + Enter anywhere; Space only where it has no other meaning.
    const enter = event.key === "Enter" && (event.ctrlKey || event.metaKey);
    const space = event.key === " " && event.target === document.body && !event.repeat && actions.spoke();
    if (!enter && !space) return;
    event.preventDefault();
    actions.done();
  });
  addEventListener("keyup", (event) => {
    if (!isHoldKey(event) || !actions.holds()) return;
    event.preventDefault();
    actions.hold(false);
  });
}

/** Space, where it has no other meaning. @param {KeyboardEvent} event */
function isHoldKey(event) {
  return event.key === " " && [document.body, part("hold"), part("main")].includes(/** @type {HTMLElement} */ (event.target));
}

/** @param {import("./status.js").Facts} facts @returns {boolean} this page has let go of the interview: what is pressed here reaches nobody */
export function stopped(facts) {
  return STOPPED.includes(facts.link);
}

/** @param {import("./status.js").Facts} facts @returns {boolean} whether the question can be answered now */
export function answering(facts) {
  return ANSWERING.includes(facts.turn) && !stopped(facts);
}

/** @param {import("./status.js").Facts} facts */
export function showControls(facts) {
  const open = answering(facts);
  part("time-left").hidden = facts.typing;
  disable("done", !open);
  disable("think", !open || facts.typing || facts.hold || !facts.microphone);
  disable("hold-mode", facts.typing || !facts.microphone);
  disable("hold", !open || facts.typing || !facts.microphone);
  part("mute").hidden = facts.hold;
  part("hold").hidden = !facts.hold;
  disable("skip", !open);
  disable("mute", facts.typing || !facts.microphone);
  disable("type", stopped(facts));
  disable("finish", stopped(facts));
  press("mute", facts.muted);
  press("hold-mode", facts.hold);
  press("hold", facts.held);
  press("think", facts.turn === "thinking");
  press("type", facts.typing);
  part("done-label").textContent = say(facts.typing ? "send" : "done");
  part("mute-label").textContent = say(facts.muted ? "unmute" : "mute");
  part("type-label").textContent = say(facts.typing ? "speak_instead" : "type_instead");
  part("microphone").classList.toggle("off", !facts.microphone || facts.muted || facts.typing || (facts.hold && !facts.held));
}

/**
 * The line that tells of trouble, and what to do.
 * @param {string} key of the catalog; "" hides it
 * @param {Record<string, string>} [values]
 * @param {Record<string, () => void>} [actions] by their key in the catalog; two at most
 */
export function showStrip(key, values = {}, actions = {}) {
  const strip = part("strip");
  strip.dataset.key = key;
  strip.hidden = key === "";
  part("strip-text").textContent = key ? say(key, values) : "";
  const entries = Object.entries(actions);
  ["strip-action", "strip-other"].forEach((id, index) => {
    const [action, act] = entries[index] ?? ["", null];
    const button = part(id);
    button.hidden = action === "";
    button.textContent = action ? say(action) : "";
    button.onclick = act;
  });
}

/** @returns {string} the key shown, "" for none */
export function stripKey() {
  return part("strip").dataset.key || "";
}

/** @param {string} id @param {boolean} disabled */
function disable(id, disabled) {
  /** @type {HTMLButtonElement} */ (part(id)).disabled = disabled;
}

/** @param {string} id @param {boolean} pressed */
function press(id, pressed) {
  part(id).setAttribute("aria-pressed", String(pressed));
}
