// On the report and the landing page: sends what this device still keeps of a finished interview, then forgets it.
import { readJson } from "./catalog.js";
import { LiveSocket, socketAddress } from "./socket.js";
import { FrameStore, interviewsKept } from "./store.js";
import { TabSeat } from "./tab.js";
import { Uplink } from "./uplink.js";

const TICK_MS = 500;
const LIMIT_MS = 20 * 60 * 1000; // an hour of sound at four times its speed, and some waiting
const SHOWN_MS = 6000;
const ASKED_MS = 8000;

/** @param {string} hex @returns {string} */
function uuidOf(hex) {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** The small line at the foot of the page. @param {"sending" | "sent" | ""} key @param {number} [percent] */
function show(key, percent = 0) {
  const line = document.getElementById("late");
  if (!line) return;
  line.hidden = key === "";
  line.textContent = key && (line.dataset[key] ?? "").replace("{percent}", `${percent}%`);
}

/** One interview's frames on their way. */
class LateUpload {
  /** @param {string} interview @param {FrameStore} store @param {DOMStringMap} page */
  constructor(interview, store, page) {
    const path = uuidOf(interview);
    this.store = store;
    this.total = 0;
    this.welcomed = false;
    /** @type {import("./socket.js").Link} */
    this.link = "connecting";
    this.ticket = `/interviews/${path}/ticket/?late=1`;
    this.csrf = page.csrf || "";
    this.socket = new LiveSocket(
      {
        socketUrl: socketAddress(`/ws/interviews/${path}/`), ticketUrl: () => this.ticket,
        csrfToken: this.csrf, protocol: readJson("live-protocol"),
      },
      {
        hello: () => ({ ...this.uplink.have, events_from: 0 }),
        onMessage: (message) => this.heard(message),
        onLink: (link) => this.linked(link),
        owedS: () => this.uplink.owedS,
      },
    );
    this.uplink = new Uplink(
      { frame: (bytes) => this.socket.sendFrame(bytes), tell: (message) => this.socket.tell(message) },
      Promise.resolve(store),
    );
  }

  /** @returns {Promise<boolean>} whether the server has everything now */
  async run() {
    const from = performance.now();
    this.socket.connect();
    while (performance.now() - from < LIMIT_MS && !this.done && !this.refused) {
      await new Promise((resolve) => { setTimeout(resolve, TICK_MS); });
      if (this.total) show("sending", Math.round(100 * (1 - this.uplink.unsaved / this.total)));
    }
    this.socket.close();
    if (this.done || this.link === "gone" || this.link === "finished") await this.store.forgetAll();
    return this.done && this.total > 0;
  }

  get done() {
    return this.welcomed && this.uplink.all.size === 0 && this.store.held === 0;
  }

  /** `finished`: the server lacks nothing and lets nobody in. */
  get refused() {
    return ["finished", "gone", "refused", "superseded"].includes(this.link);
  }

  /** @param {import("./socket.js").Link} link */
  linked(link) {
    this.link = link;
    if (link !== "live") this.uplink.pause();
  }

  /** @param {any} message */
  async heard(message) {
    if (message.type === "ack") this.uplink.ack(message);
    if (message.type === "nack") this.uplink.nack(message);
    if (message.type === "committed") this.uplink.committed(message.answer);
    if (message.type !== "welcome") return;
    await this.uplink.welcome(message);
    this.total = Math.max(this.total, this.uplink.unsaved);
    this.welcomed = this.uplink.live;
  }
}

/** An interview that this visitor cannot ask for any more needs nothing kept. @param {string} interview @param {string} csrf */
async function isGone(interview, csrf) {
  const url = `/interviews/${uuidOf(interview)}/ticket/?late=1`;
  const response = await fetch(url, {
    method: "POST", headers: { "X-CSRFToken": csrf }, credentials: "same-origin", signal: AbortSignal.timeout(ASKED_MS),
  });
  return response.status === 404;
}

/** @param {string} interview @param {DOMStringMap} page */
async function settle(interview, page) {
  const finished = (page.finished || "").split(" ").includes(interview);
  const seat = new TabSeat(interview, async () => {});
  if (!(await seat.take())) return; // a tab that is open sends it
  const store = await FrameStore.open(interview);
  try {
    if (!store) return;
    if (finished) {
      if (await new LateUpload(interview, store, page).run()) show("sent");
      else show("");
    } else if (await isGone(interview, page.csrf || "")) {
      await store.forgetAll();
    }
  } catch {
    show(""); // offline: the next page tries again
  } finally {
    seat.release();
  }
}

const page = document.getElementById("late")?.dataset;
if (page) {
  for (const interview of await interviewsKept()) await settle(interview, page);
  setTimeout(() => show(""), SHOWN_MS);
}
