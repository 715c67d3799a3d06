// The interview page: events from the server become words, feedback and state; keys and buttons become messages.
// The server alone decides questions, time left and scores.
import { Answering } from "./answering.js";
import { part, readJson, say } from "./catalog.js";
import { answering, bindControls, showControls, showStrip, stripKey } from "./controls.js";
import { EarlierAnswers } from "./earlier.js";
import { FeedbackPanel } from "./feedback.js";
import { LevelMeter } from "./level.js";
import { Microphone } from "./microphone.js";
import { LiveSocket } from "./socket.js";
import { showSaved, showState } from "./status.js";
import { openElsewhere } from "./tab.js";
import { AnswerTimer } from "./timer.js";
import { Transcript } from "./transcript.js";
import { Typing } from "./typing.js";
import { WakeLock } from "./wake.js";

const SAMPLES_PER_S = 16000;
const REPORT_AFTER_MS = 5000; // time to read the last feedback

class LivePage {
  /** @param {DOMStringMap} page */
  constructor(page) {
    this.page = page;
    this.language = page.language === "zh" ? "zh-Hans" : "en";
    this.lastEid = 0;
    this.gen = 0;
    this.frameMs = 100;
    /** @type {any} the open turn as the last welcome told it */
    this.resumed = {};
    /** @type {any} the question on the table */
    this.question = null;
    this.finishing = false;
    this.spoke = false;
    /** @type {import("./status.js").Facts} */
    this.facts = {
      link: "connecting", problem: null, device: "", microphone: false, muted: false,
      typing: false, full: false, turn: "asking",
    };
    this.words = new Transcript(part("words"), this.language);
    this.feedback = new FeedbackPanel((text) => { part("announcer").textContent = text; });
    this.earlier = new EarlierAnswers();
    this.timer = new AnswerTimer(part("time-left"), (left) => say("time_left", { left }));
    this.level = new LevelMeter(part("microphone"));
    this.typing = new Typing((text) => this.sendText(text), () => this.feedback.open(false));
    this.wake = new WakeLock();
    this.microphone = new Microphone(page.worklet || "", {
      onFrame: (pcm, captureUs, flushed) => this.captured(pcm, captureUs, flushed),
      onLevel: (level) => this.level.show(level),
      onProblem: (problem, device) => this.microphoneProblem(problem, device),
    });
    const socketUrl = new URL(page.socket || "", location.href);
    socketUrl.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new LiveSocket(
      { socketUrl: socketUrl.href, ticketUrl: page.ticket || "", csrfToken: page.csrf || "", protocol: readJson("live-protocol") },
      {
        hello: () => this.hello(),
        onMessage: (message) => this.heard(message),
        onLink: (link) => this.linked(link),
        owedS: () => this.answering.uplink.owedS,
      },
    );
    /** @type {Answering} */
    this.answering = new Answering(this.socket, () => this.microphone.flush());
    this.handlers = this.eventHandlers();
  }

  async start() {
    bindControls({
      done: () => this.done(),
      think: () => this.think(),
      mute: () => this.mute(),
      type: () => this.type(!this.facts.typing),
      skip: () => this.skip(),
      finish: () => this.finishInterview(),
      sheet: () => this.feedback.open(part("feedback").dataset.open !== "true"),
      spoke: () => this.spoke,
    });
    addEventListener("pagehide", () => this.microphone.stop());
    this.show();
    if (await openElsewhere(this.page.interview || "")) {
      this.strip("elsewhere", "continue_here", () => this.connect());
      return;
    }
    this.connect();
  }

  connect() {
    this.strip("");
    this.socket.connect();
    if (this.page.typing === "true") this.type(true);
    else this.openMicrophone();
  }

  async openMicrophone() {
    this.answering.uplink.gap();
    this.facts.microphone = await this.microphone.start();
    if (this.facts.microphone) this.wake.hold();
    this.show();
  }

  /** @returns {Record<string, unknown>} */
  hello() {
    const { uplink } = this.answering;
    return {
      answer: uplink.answer,
      have_from: uplink.base,
      have_to: uplink.next,
      ...(uplink.epoch ? { epoch: uplink.epoch } : {}),
      ...(this.gen ? { gen: this.gen } : {}),
      events_from: this.lastEid,
    };
  }

  /** @param {import("./socket.js").Link} link */
  linked(link) {
    this.facts.link = link;
    if (link !== "live") this.answering.uplink.pause();
    if (link === "superseded") this.stop("superseded", "continue_here", () => this.connect());
    if (link === "refused") this.stop("refused", "reload", () => location.reload());
    if (link === "finished") this.leave(this.page.report || "/", 0);
    if (link === "gone") this.leave("/", 0);
    this.show();
  }

  /** @param {any} message */
  heard(message) {
    if (message.eid) {
      if (message.eid <= this.lastEid) return;
      this.lastEid = message.eid;
    }
    this.handlers[message.type]?.(message);
    this.show();
  }

  /** @returns {Record<string, (event: any) => void>} every message the server may send */
  eventHandlers() {
    const { words, feedback, facts, timer } = this;
    const sender = this.answering;
    /** @param {{turn: number}} event */
    const current = (event) => event.turn === this.question?.turn;
    return {
      welcome: (message) => this.welcomed(message),
      ack: ({ answer, upto, window }) => answer === sender.uplink.answer && sender.uplink.ack(upto, window),
      nack: ({ answer, from }) => answer === sender.uplink.answer && sender.uplink.nack(from),
      committed: ({ answer }) => sender.committed(answer),
      "session.ready": ({ mode }) => this.mode(mode),
      "mode.changed": ({ mode }) => this.mode(mode),
      "question.asked": (event) => this.asked(event),
      "answer.opened": ({ turn }) => this.opened(turn),
      "speech.started": (event) => {
        if (!current(event)) return;
        this.spoke = true;
        facts.turn = "speaking";
        timer.speechStarted(event.at_s);
      },
      "transcript.partial": (event) => {
        if (!current(event)) return;
        words.partial(event);
        if (facts.turn === "paused" || facts.turn === "thinking") facts.turn = "speaking";
      },
      "transcript.final": (event) => {
        if (!current(event)) return;
        this.spoke = true;
        words.final(event);
        this.calm();
      },
      "turn.paused": (event) => { if (current(event) && facts.turn !== "thinking") facts.turn = "paused"; },
      "turn.resumed": (event) => { if (current(event)) facts.turn = "speaking"; },
      "turn.ended": (event) => this.ended(event),
      "feedback.started": (event) => feedback.started(event),
      "feedback.score": (event) => feedback.score(event),
      "feedback.delta": (event) => feedback.delta(event),
      "feedback.withdrawn": (event) => feedback.withdrawn(event),
      "feedback.done": (event) => {
        feedback.done(event);
        if (current(event) && facts.turn === "analysing" && !event.provisional) facts.turn = "asking";
      },
      "question.follow_up": (event) => feedback.followUp(event),
      "analysis.ready": () => {},
      "session.ended": ({ reason }) => this.over(reason),
      problem: ({ code }) => {
        if (code === "too_late") this.textRefused();
        this.strip(`problem_${code}`);
      },
      reload: () => location.reload(),
    };
  }

  /** @param {any} message */
  welcomed(message) {
    this.gen = message.gen;
    this.frameMs = message.frame_ms;
    this.microphone.setFrame(message.frame_ms);
    this.answering.welcome(message);
    this.resumed = { ...message.snapshot.turn, keptS: (message.next * message.frame_ms) / 1000 };
    if (message.snapshot.turn?.turn === this.question?.turn) this.setTimer(); // else the replay brings the question
  }

  /** @param {any} question */
  asked(question) {
    if (this.question && question.turn <= this.question.turn) return;
    this.keepEarlier();
    this.question = question;
    this.spoke = false;
    this.words.clear();
    this.timer.clear();
    part("question").textContent = question.text;
    part("progress").textContent = say(question.kind === "main" ? "progress" : "follow_up_to", question);
    this.calm();
    this.facts.turn = "asking";
    this.typing.next(question.turn);
    part("announcer").textContent = question.text;
  }

  keepEarlier() {
    const { question } = this;
    if (!question) return;
    this.earlier.add({
      turn: question.turn,
      label: say(question.kind === "main" ? "question_number" : "follow_up_to", question),
      question: question.text,
      words: this.words.text,
      score: this.feedback.scores.get(question.turn),
      language: this.language,
    });
  }

  /** @param {number} turn */
  opened(turn) {
    this.answering.opened(turn);
    if (turn !== this.question?.turn || this.facts.turn !== "asking") return;
    this.facts.turn = "open";
    this.setTimer();
  }

  /** Time left goes on from what the server has, on a reload too. */
  setTimer() {
    const { resumed, question } = this;
    if (!question) return;
    if (resumed.turn === question.turn) this.timer.open(question.limit_s, resumed.keptS, resumed.elapsed_s);
    else this.timer.open(question.limit_s);
  }

  /** @param {any} event */
  ended({ turn, reason }) {
    this.answering.heard(turn);
    this.answering.finish(turn);
    if (turn !== this.question?.turn) return;
    this.facts.turn = "analysing";
    this.typing.ended(reason === "text" || reason === "skipped");
    if (reason !== "skipped" && !this.facts.typing) this.feedback.open(true); // the next box stays free
  }

  /** @param {Uint8Array} pcm @param {number} captureUs @param {boolean} flushed */
  captured(pcm, captureUs, flushed) {
    const { uplink } = this.answering;
    uplink.capture(pcm, captureUs, flushed);
    if (uplink.open) this.timer.captured(pcm.length / 2 / SAMPLES_PER_S);
    if (uplink.full !== this.facts.full) {
      this.facts.full = uplink.full;
      this.show();
    }
    showSaved(uplink, this.frameMs);
  }

  /** @param {import("./microphone.js").Problem | null} problem @param {string} device */
  microphoneProblem(problem, device) {
    this.facts.problem = problem;
    this.facts.device = device || say("your_microphone");
    this.facts.microphone = this.microphone.running;
    if (problem === null && stripKey().startsWith("microphone_")) this.strip("");
    else if (problem === null) return;
    else if (problem === "suspended") this.strip("microphone_suspended", "turn_on", () => this.microphone.resume());
    else this.strip(`microphone_${problem}`, "type_instead", () => this.type(true));
    this.show();
  }

  /** @param {string} mode */
  mode(mode) {
    part("type").hidden = mode === "text";
    if (mode === "text") {
      this.microphone.stop();
      this.facts.microphone = false;
      this.type(true);
      this.strip("text_mode");
    } else if (stripKey() === "text_mode") {
      this.strip("");
      this.type(false);
    }
  }

  /** @param {boolean} typing */
  type(typing) {
    this.facts.typing = typing;
    if (typing) this.feedback.open(false);
    this.typing.show(typing);
    this.socket.tell({ type: "input", mode: typing ? "text" : "voice" });
    if (typing) this.microphone.mute(true);
    else if (this.microphone.running) this.unmute();
    else this.openMicrophone();
    this.show();
  }

  /** @param {string} text */
  sendText(text) {
    if (!this.question || this.facts.turn === "analysing") return;
    if (stripKey() === "problem_too_late") this.strip("");
    this.words.typed(text);
    this.answering.command({ type: "text_answer", answer: this.question.turn, text });
    this.facts.turn = "analysing";
    this.show();
  }

  /** The question had closed before the text came: it stays in the box and is no part of that answer. */
  textRefused() {
    this.answering.pending.delete("text_answer");
    this.words.untyped();
    this.typing.refused();
  }

  done() {
    if (!answering(this.facts)) return;
    if (this.facts.typing) {
      this.typing.submit();
      return;
    }
    this.facts.turn = "analysing";
    this.answering.finish(this.question.turn);
    this.show();
  }

  think() {
    if (!this.question) return;
    this.facts.turn = "thinking";
    this.socket.tell({ type: "thinking", answer: this.question.turn });
    this.show();
  }

  skip() {
    if (!this.question || this.facts.turn === "analysing") return;
    this.answering.command({ type: "skip", answer: this.question.turn });
    this.facts.turn = "analysing";
    this.show();
  }

  finishInterview() {
    this.finishing = true;
    this.answering.command({ type: "finish" });
    this.strip("finishing");
  }

  mute() {
    this.facts.muted = !this.facts.muted;
    this.unmute();
    this.show();
  }

  /** Open the microphone again, unless it is to stay muted. */
  unmute() {
    this.answering.uplink.gap();
    this.microphone.mute(this.facts.muted || this.facts.typing);
  }

  show() {
    part("words").hidden = this.facts.typing && !this.words.text;
    showState(this.facts);
    showControls(this.facts);
  }

  /** @param {string} key @param {string} [action] @param {() => void} [act] */
  strip(key, action, act) {
    showStrip(key, { device: this.facts.device }, action, act);
  }

  /** Trouble that the next words disprove; a text that came too late is told of until the next one is sent. */
  calm() {
    if (stripKey().startsWith("problem_") && stripKey() !== "problem_too_late") this.strip("");
  }

  /** @param {string} key @param {string} action @param {() => void} act */
  stop(key, action, act) {
    this.microphone.stop();
    this.facts.microphone = false;
    this.wake.release();
    this.strip(key, action, act);
  }

  /** @param {string} reason */
  over(reason) {
    this.facts.turn = "ended";
    this.answering.pending.clear();
    if (reason === "deleted") this.leave("/", 0);
    else this.leave(this.page.report || "/", this.finishing ? 0 : REPORT_AFTER_MS);
  }

  /** @param {string} url @param {number} afterMs */
  leave(url, afterMs) {
    this.socket.close();
    this.stop("ended", "see_report", () => location.assign(url));
    setTimeout(() => location.assign(url), afterMs);
  }
}

new LivePage(part("main").dataset).start();
