// The state in words beside the microphone: one sentence, chosen from what is true right now.
import { part, say } from "./catalog.js";
import { clock } from "./timer.js";

const BEHIND_FRAMES = 20;

/**
 * @typedef {object} Facts
 * @property {import("./socket.js").Link} link
 * @property {import("./microphone.js").Problem | null} problem
 * @property {string} device
 * @property {boolean} microphone it is open
 * @property {boolean} muted
 * @property {boolean} typing
 * @property {boolean} full nothing more can be kept on this device
 * @property {"asking" | "open" | "speaking" | "paused" | "thinking" | "analysing" | "ended"} turn
 */

/** @param {Facts} facts @returns {string} a key of the catalog */
export function stateKey(facts) {
  if (facts.turn === "ended") return "state_ended";
  if (facts.link === "offline") return facts.full ? "state_offline_full" : "state_offline";
  if (facts.link === "reconnecting") return facts.full ? "state_offline_full" : "state_reconnecting";
  if (facts.link === "connecting") return "state_connecting";
  if (facts.link !== "live") return "state_stopped";
  if (facts.turn === "asking") return "state_asking";
  if (facts.turn === "analysing") return "state_analysing";
  if (facts.typing) return "state_typing";
  if (facts.muted) return "state_muted";
  if (!facts.microphone || (facts.problem && facts.problem !== "silent")) return "state_no_microphone";
  if (facts.problem === "silent") return "state_silent";
  if (facts.turn === "thinking") return "state_thinking";
  return facts.turn === "paused" ? "state_paused" : "state_listening";
}

/** Write the state, and whether it is good, to be watched or wrong. @param {Facts} facts */
export function showState(facts) {
  const key = stateKey(facts);
  const text = say(key, { device: facts.device });
  const element = part("state");
  if (element.textContent !== text) element.textContent = text;
  const troubled = /offline|reconnecting|stopped|silent|no_microphone/.test(key);
  part("bar").dataset.state = troubled ? "watch" : key.replace("state_", "");
}

/**
 * How much of the answer is on the server's disk.
 * @param {{acked: number, unsaved: number}} uplink @param {number} frameMs
 */
export function showSaved({ acked, unsaved }, frameMs) {
  const time = clock((acked * frameMs) / 1000);
  const text = unsaved > BEHIND_FRAMES ? say("saved_up_to", { time }) : say("saved");
  const element = part("saved");
  const shown = acked ? text : "";
  if (element.textContent !== shown) element.textContent = shown;
}
