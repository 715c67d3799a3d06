// Whether somebody is there: asks when nothing is said for long, and holds the interview when nobody answers.
import { part, say } from "./catalog.js";

export class Attendance {
  /** @param {import("./live.js").LivePage} page */
  constructor(page) {
    this.page = page;
    this.asking = ""; // what the dialog is about
    this.dialog = /** @type {HTMLDialogElement} */ (part("attendance"));
    // Escape, or a click on the first button: somebody is there.
    this.dialog.addEventListener("close", () => this.#answered(this.dialog.returnValue !== "other"));
  }

  /** Nothing was said for long. @param {number} turn */
  silent(turn) {
    this.turn = turn;
    this.#open("still_there", "still_there_why", "here", "skip");
  }

  /** Nobody answered two questions. */
  paused() {
    this.page.facts.turn = "waiting";
    this.#open("session_paused", "session_paused_why", "go_on", "finish");
  }

  /** Words answer it, and so does the end of the question. @param {string} [what] */
  over(what = "still_there") {
    if (this.asking !== what) return;
    this.asking = "";
    this.dialog.close();
  }

  /** @param {string} title @param {string} why @param {string} yes @param {string} other */
  #open(title, why, yes, other) {
    this.asking = title;
    this.dialog.returnValue = "";
    part("attendance-title").textContent = say(title);
    part("attendance-why").textContent = say(why);
    part("attendance-yes").textContent = say(`attendance_${yes}`);
    part("attendance-other").textContent = say(`attendance_${other}`);
    if (!this.dialog.open) this.dialog.showModal();
  }

  /** @param {boolean} there */
  #answered(there) {
    const { page, asking } = this;
    this.asking = "";
    if (asking === "still_there") {
      if (there) page.answering.command({ type: "here", answer: this.turn });
      else page.skip();
    } else if (asking === "session_paused") {
      if (there) page.socket.tell({ type: "go_on" });
      else page.finishInterview();
    }
  }
}
