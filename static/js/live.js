// The interview page: events from the server become words, feedback and state; keys and buttons become messages.
// The server alone decides questions, time left and scores.
import { Answering } from "./answering.js";
import { Attendance } from "./attendance.js";
import { part, readJson, say } from "./catalog.js";
import { answering, bindControls, showControls, showStrip, stopped, stripKey } from "./controls.js";
import { Conversation } from "./conversation.js";
import { eventHandlers } from "./events.js";
import { FeedbackPanel } from "./feedback.js";
import { HoldToTalk } from "./hold.js";
import { LevelMeter } from "./level.js";
import { Microphone } from "./microphone.js";
import { LiveSocket, socketAddress } from "./socket.js";
import { showState } from "./status.js";
import { FrameStore } from "./store.js";
import { TabSeat } from "./tab.js";
import { ThinkingTime } from "./thinking.js";
import { SoundTrouble } from "./trouble.js";
import { Truth } from "./truth.js";
import { Typing } from "./typing.js";
import { WakeLock } from "./wake.js";

const SAMPLES_PER_S = 16000;
const LASTING = ["problem_too_late", "problem_rate_mismatch"]; // words disprove neither
const REPORT_AFTER_MS = 5000; // time to read the last feedback

export class LivePage {
  /** @param {DOMStringMap} page */
  constructor(page) {
    this.page = page;
    this.lastEid = 0;
    this.gen = 0;
    this.frameMs = 100;
    this.maxAnswerS = Infinity;
    this.finishing = false;
    /** @type {import("./status.js").Facts} */
    this.facts = {
      link: "connecting", problem: null, device: "", microphone: false, muted: false,
      typing: false, full: false, kept: false, turn: "asking", hold: HoldToTalk.chosen(), held: false,
    };
    this.feedback = new FeedbackPanel((text) => { part("announcer").textContent = text; });
    this.conversation = new Conversation(
      page.language === "zh" ? "zh-Hans" : "en", (turn) => this.feedback.scores.get(turn),
    );
    this.level = new LevelMeter(part("microphone"));
    this.typing = new Typing(page.interview || "", (text) => this.sendText(text), () => this.feedback.open(false));
    this.truth = new Truth();
    this.wake = new WakeLock();
    this.microphone = new Microphone(page.worklet || "", {
      onFrame: (pcm, captureUs, flushed) => this.captured(pcm, captureUs, flushed),
      onLevel: (level) => this.level.show(this.hold.shut ? 0 : level),
      onProblem: (problem, device) => this.trouble.microphone(problem, device),
      onLoud: (loud, device) => this.trouble.loud(loud, device),
    });
    this.trouble = new SoundTrouble(this);
    this.hold = new HoldToTalk(this, part("hold"));
    this.attendance = new Attendance(this);
    this.thinking = new ThinkingTime(this);
    this.socket = new LiveSocket(
      {
        socketUrl: socketAddress(page.socket || ""), csrfToken: page.csrf || "", protocol: readJson("live-protocol"),
        ticketUrl: () => (page.ticket || "") + (this.answering.uplink.unsaved ? "?late=1" : ""),
      },
      {
        hello: () => this.hello(),
        onMessage: (message) => this.heard(message),
        onLink: (link) => this.linked(link),
        owedS: () => this.answering.uplink.owedS,
      },
    );
    /** @type {Answering} */
    this.answering = new Answering(
      this.socket, () => this.microphone.flush(), FrameStore.open(page.interview || ""),
    );
    this.seat = new TabSeat(page.interview || "", () => this.giveWay());
    this.handlers = eventHandlers(this);
  }

  async start() {
    bindControls({
      done: () => this.done(),
      think: () => this.thinking.ask(),
      mute: () => this.mute(),
      holdMode: () => this.hold.use(!this.facts.hold),
      hold: (down) => (down ? this.hold.press() : this.hold.release()),
      holds: () => this.facts.hold && !this.facts.typing,
      type: () => this.type(!this.facts.typing),
      skip: () => this.skip(),
      finish: () => this.finishInterview(),
      sheet: () => this.feedback.open(part("feedback").dataset.open !== "true"),
      spoke: () => this.conversation.spoke,
    });
    addEventListener("pagehide", () => {
      this.microphone.stop();
      this.answering.uplink.store?.flush();
    });
    addEventListener("pageshow", ({ persisted }) => persisted && location.reload()); // it let go of everything
    this.show();
    if (await this.seat.take()) {
      this.connect();
      return;
    }
    this.facts.link = "superseded";
    this.show();
    this.strip("elsewhere", { continue_here: () => this.takeOver(), stay_there: () => this.stay() });
  }

  connect() {
    this.strip("");
    this.socket.connect();
    if (this.page.typing === "true") this.type(true);
    else this.openMicrophone();
  }

  async takeOver() {
    this.strip("");
    await this.seat.claim();
    this.connect();
  }

  /** The other tab keeps the interview. */
  stay() {
    this.strip("stayed", { continue_here: () => this.takeOver() });
  }

  /** Another tab of this browser goes on: at once there is only one that records and writes. */
  async giveWay() {
    this.socket.close();
    this.facts.link = "superseded";
    this.stop("superseded", { continue_here: () => this.takeOver() });
    this.show();
    await this.answering.uplink.release();
    this.show(); // what waits on the device is the other tab's
  }

  async openMicrophone() {
    this.answering.uplink.gap();
    this.facts.microphone = await this.microphone.start();
    if (this.facts.microphone) this.wake.hold();
    this.show();
  }

  /** @returns {Record<string, unknown>} */
  hello() {
    return { ...this.answering.uplink.have, ...(this.gen ? { gen: this.gen } : {}), events_from: this.lastEid };
  }

  /** @param {import("./socket.js").Link} link */
  linked(link) {
    this.facts.link = link;
    if (link !== "live") this.answering.uplink.pause();
    if (link === "superseded") this.giveWay();
    if (link === "refused") this.stop("refused", { reload: () => location.reload() });
    if (link === "finished") this.leave(this.page.report || "/", 0);
    if (link === "gone") this.erased();
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

  /** @param {any} message */
  async welcomed(message) {
    this.gen = message.gen;
    this.frameMs = message.frame_ms;
    this.maxAnswerS = message.max_answer_s;
    this.microphone.setFrame(message.frame_ms);
    this.truth.welcome(message.server_time);
    const { uplink } = this.answering;
    const { turn } = message.snapshot;
    const onServerS = (message.next * message.frame_ms) / 1000;
    if (turn) this.conversation.welcomed(turn, onServerS, turn.turn === uplink.answer ? this.recordedS : 0);
    await this.answering.welcome(message);
    if (this.facts.hold) this.hold.tell();
    // What an earlier page left on the device counts too, as soon as it is found.
    if (turn?.turn === uplink.answer) this.conversation.welcomed(turn, onServerS, this.recordedS);
    this.show();
  }

  /** Sound of the open answer so far, here and on the server. */
  get recordedS() {
    return ((this.answering.uplink.current?.next ?? 0) * this.frameMs) / 1000;
  }

  /** @param {any} question */
  asked(question) {
    if (!this.conversation.asked(question)) return;
    this.calm();
    this.facts.turn = "asking";
    this.typing.next(question.turn);
  }

  /** @param {number} turn */
  opened(turn) {
    this.answering.opened(turn);
    if (turn !== this.conversation.turn || this.facts.turn !== "asking") return;
    this.facts.turn = "open";
    this.trouble.opened();
    this.conversation.setTimer();
  }

  /** @param {any} event */
  ended({ turn, reason }) {
    this.answering.heard(turn);
    this.answering.finish(turn);
    if (turn !== this.conversation.turn) return;
    this.attendance.over();
    this.facts.turn = "analysing";
    this.typing.ended(reason === "text" || reason === "skipped");
    if (reason !== "skipped" && !this.facts.typing) this.feedback.open(true); // the next box stays free
  }

  /** @param {Uint8Array} pcm @param {number} captureUs @param {boolean} flushed */
  captured(pcm, captureUs, flushed) {
    if (this.hold.shut) return;
    const { uplink } = this.answering;
    uplink.capture(pcm, captureUs, flushed);
    if (uplink.open) this.conversation.timer.captured(pcm.length / 2 / SAMPLES_PER_S);
    this.trouble.captured(pcm.length / 2 / SAMPLES_PER_S);
    this.thinking.captured();
    if (uplink.open && this.recordedS >= this.maxAnswerS) this.closeAnswer(); // the server would take no more of it
    if (uplink.full !== this.facts.full || uplink.kept !== this.facts.kept) this.show();
    else this.tellTruth();
  }

  tellTruth() {
    const { uplink } = this.answering;
    this.truth.show({
      live: this.facts.link === "live", kept: this.facts.kept, full: this.facts.full,
      unsavedMs: uplink.unsaved * this.frameMs, missingMs: uplink.missing * this.frameMs, savedAtMs: uplink.savedAtMs,
    });
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
    this.hold.release();
    this.hold.tell();
    if (typing || this.microphone.running) this.unmute();
    else this.openMicrophone();
    this.show();
  }

  /** @param {string} text */
  sendText(text) {
    const { turn } = this.conversation;
    if (!turn || this.facts.turn === "analysing") return;
    if (stripKey() === "problem_too_late") this.strip("");
    this.conversation.change(turn, (words) => words.typed(text));
    this.answering.command({ type: "text_answer", answer: turn, text });
    this.facts.turn = "analysing";
    this.show();
  }

  /** The question had closed before the text came: it stays in the box and is no part of that answer. */
  textRefused() {
    this.answering.pending.delete("text_answer");
    this.conversation.change(this.conversation.turn, (words) => words.untyped());
    this.typing.refused();
  }

  done() {
    if (!answering(this.facts)) return;
    if (this.facts.typing) {
      this.typing.submit();
      return;
    }
    this.closeAnswer();
  }

  closeAnswer() {
    this.facts.turn = "analysing";
    this.answering.finish(this.conversation.turn);
    this.show();
  }

  skip() {
    if (!answering(this.facts)) return;
    this.answering.command({ type: "skip", answer: this.conversation.turn });
    this.facts.turn = "analysing";
    this.show();
  }

  finishInterview() {
    if (stopped(this.facts)) return; // another tab took over while the question stood open
    this.finishing = true;
    this.answering.command({ type: "finish" });
    this.strip("finishing");
    if (answering(this.facts) && !this.facts.typing) this.closeAnswer(); // nothing more is recorded, out of reach too
  }

  mute() {
    this.facts.muted = !this.facts.muted;
    this.unmute();
    this.show();
  }

  /** Open the microphone again, unless it is to stay muted. */
  unmute() {
    const muted = this.facts.muted || this.facts.typing;
    if (muted && !this.microphone.muted && this.conversation.spoke) this.answering.hush(this.frameMs);
    this.answering.uplink.gap();
    this.microphone.mute(muted);
  }

  show() {
    const { full, kept } = this.answering.uplink;
    Object.assign(this.facts, { full, kept });
    part("words").hidden = this.facts.typing && !this.conversation.words.text;
    showState(this.facts);
    showControls(this.facts);
    this.tellTruth();
  }

  /** @param {string} key @param {Record<string, () => void>} [actions] */
  strip(key, actions) {
    showStrip(key, { device: this.facts.device }, actions);
  }

  /** Trouble that the next words disprove; a text that came too late is told of until the next one is sent. */
  calm() {
    if (stripKey().startsWith("problem_") && !LASTING.includes(stripKey())) this.strip("");
  }

  /** @param {string} key @param {Record<string, () => void>} actions */
  stop(key, actions) {
    this.microphone.stop();
    this.facts.microphone = false;
    this.wake.release();
    this.strip(key, actions);
  }

  /** @param {string} reason */
  over(reason) {
    this.facts.turn = "ended";
    this.answering.pending.clear();
    if (reason === "deleted") this.erased();
    else this.leave(this.page.report || "/", this.finishing ? 0 : REPORT_AFTER_MS);
  }

  /** The interview is deleted, and with it what this device kept of it. */
  async erased() {
    this.stop("ended", {});
    this.socket.close();
    this.typing.erase();
    await this.answering.uplink.erase();
    location.assign("/");
  }

  async reload() {
    await this.answering.uplink.release();
    location.reload();
  }

  /** Sound that the server lacks goes up first; what does not is sent by the next page. @param {string} url @param {number} afterMs */
  async leave(url, afterMs) {
    this.stop("ended", { see_report: () => location.assign(url) });
    const from = performance.now();
    const { uplink } = this.answering;
    const waits = () => performance.now() - from < Math.max(afterMs, uplink.patienceMs(!this.socket.over));
    while (waits()) await new Promise((resolve) => { setTimeout(resolve, 100); });
    this.socket.close();
    location.assign(url);
  }
}

new LivePage(part("main").dataset).start();
