// The question on the table, its words and its time, and the answers before it. Knows no socket and no microphone.
import { part, say } from "./catalog.js";
import { EarlierAnswers } from "./earlier.js";
import { AnswerTimer, clock } from "./timer.js";
import { Transcript } from "./transcript.js";

export class Conversation {
  /** @param {string} language of the interview @param {(turn: number) => import("./earlier.js").Mark | undefined} markOf */
  constructor(language, markOf) {
    this.markOf = markOf;
    /** @type {any} the question on the table */
    this.question = null;
    this.spoke = false;
    /** @type {any} the open turn as the last welcome told it */
    this.resumed = {};
    this.words = new Transcript(part("words"));
    this.earlier = new EarlierAnswers(language);
    this.timer = new AnswerTimer(part("time-left"), (left) => say("time_left", { left }));
  }

  get turn() {
    return this.question?.turn ?? 0;
  }

  /** @param {any} question @returns {boolean} whether it is a new one */
  asked(question) {
    if (question.turn <= this.turn) return false;
    this.#keep();
    this.question = question;
    this.spoke = false;
    this.timer.clear();
    part("question").textContent = question.text;
    part("progress").textContent = say(question.kind === "main" ? "progress" : "follow_up_to", question);
    part("announcer").textContent = question.text;
    return true;
  }

  /**
   * @param {any} turn the open one, as the server sees it @param {number} onServerS its sound there
   * @param {number} recordedS its sound there and here
   */
  welcomed(turn, onServerS, recordedS) {
    const speaking = turn.elapsed_s > 0 ? turn.elapsed_s + Math.max(0, recordedS - onServerS) : 0;
    this.resumed = { turn: turn.turn, recordedS: Math.max(onServerS, recordedS), speaking };
    if (turn.turn === this.turn) this.setTimer(); // else the replay brings the question
  }

  /** Time left goes on from what the server has, on a reload too. */
  setTimer() {
    const { resumed, question, timer } = this;
    if (!question) return;
    if (resumed.turn === question.turn) timer.open(question.limit_s, resumed.recordedS, resumed.speaking);
    else timer.open(question.limit_s);
  }

  /** The time limit comes near. @param {number} leftS */
  nearlyOver(leftS) {
    this.timer.warn();
    part("announcer").textContent = say("time_nearly_over", { left: clock(leftS) });
  }

  /** @param {number} turn @param {(utterances: import("./transcript.js").Utterances) => void} change */
  change(turn, change) {
    if (turn === this.turn) {
      change(this.words.utterances);
      this.words.render();
      return;
    }
    const earlier = this.earlier.utterances(turn);
    if (!earlier) return;
    change(earlier);
    this.earlier.words(turn);
  }

  /** @param {{turn: number, value: number, grade: string, provisional: boolean}} score of an answer that is over */
  rescored({ turn, value, grade, provisional }) {
    if (!provisional && turn !== this.turn) this.earlier.mark(turn, { value, grade });
  }

  /** Sound that came late was heard. @param {{turn: number, late_s: number}} event */
  corrected({ turn, late_s: seconds }) {
    const why = say("corrected", { seconds: seconds.toFixed(1) });
    this.earlier.corrected(turn, why);
    part("announcer").textContent = why;
  }

  #keep() {
    const utterances = this.words.clear();
    const { question } = this;
    if (!question) return;
    this.earlier.add({
      turn: question.turn,
      label: say(question.kind === "main" ? "question_number" : "follow_up_to", question),
      question: question.text,
      utterances,
      mark: this.markOf(question.turn),
    });
  }
}
