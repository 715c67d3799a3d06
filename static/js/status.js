// The state in words beside the microphone: one sentence, chosen from what is true right now.
import { part, say } from "./catalog.js";

/**
 * @typedef {object} Facts
 * @property {import("./socket.js").Link} link
 * @property {import("./microphone.js").Problem | null} problem
 * @property {string} device
 * @property {boolean} microphone it is open
 * @property {boolean} muted
 * @property {boolean} typing
 * @property {boolean} hold only what is said with the key held is recorded
 * @property {boolean} held the key is held
 * @property {boolean} full nothing more can be kept on this device
 * @property {boolean} kept what is captured goes to the device, not only into this page
 * @property {"asking" | "open" | "speaking" | "paused" | "thinking" | "analysing" | "waiting" | "ended"} turn waiting: for somebody to be there
 */

/** @param {Facts} facts @returns {string} a key of the catalog */
export function stateKey(facts) {
  if (facts.turn === "ended") return "state_ended";
  if (facts.link === "offline" || facts.link === "reconnecting") return awayKey(facts);
  if (facts.link === "connecting") return "state_connecting";
  if (facts.link !== "live") return "state_stopped";
  if (facts.full) return "state_full";
  if (facts.turn === "asking") return "state_asking";
  if (facts.turn === "analysing") return "state_analysing";
  if (facts.turn === "waiting") return "state_waiting";
  if (facts.typing) return "state_typing";
  if (facts.muted) return "state_muted";
  const silent = facts.problem === "silent" || facts.problem === "interrupted";
  if (!facts.microphone || (facts.problem && !silent)) return "state_no_microphone";
  if (silent) return "state_silent";
  if (facts.hold) return facts.held ? "state_held" : "state_hold";
  if (facts.turn === "thinking") return "state_thinking";
  return facts.turn === "paused" ? "state_paused" : "state_listening";
}

/** Never says that something is recorded when it is not. @param {Facts} facts */
function awayKey(facts) {
  // What is said behind an answer's end waits in memory, for half a minute: nobody is asked to go on talking.
  const shut = facts.muted || facts.typing || (facts.hold && !facts.held);
  const recording = facts.microphone && !shut && facts.turn !== "analysing";
  if (facts.full && recording) return "state_offline_full";
  if (facts.link === "reconnecting") return recording ? "state_reconnecting" : "state_reconnecting_idle";
  if (!recording) return "state_offline_idle";
  return facts.kept ? "state_offline" : "state_offline_in_page";
}

/** Write the state, and whether it is good, to be watched or wrong. @param {Facts} facts */
export function showState(facts) {
  const key = stateKey(facts);
  const text = say(key, { device: facts.device });
  const element = part("state");
  if (element.textContent !== text) element.textContent = text;
  const troubled = /offline|reconnecting|stopped|silent|no_microphone|full/.test(key);
  part("bar").dataset.state = troubled ? "watch" : key.replace("state_", "");
}
