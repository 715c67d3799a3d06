// One WebSocket that comes back: resume token or fresh ticket, hello, welcome, heartbeats, back-off. Knows no audio
// and no page.

/**
 * @typedef {"connecting" | "live" | "reconnecting" | "offline" | "superseded" | "finished" | "gone" | "refused"} Link
 * @typedef {object} Protocol
 * @property {string} subprotocol
 * @property {Record<string, {retry: boolean, spread_ms: number}>} close_codes
 * @typedef {object} Handlers
 * @property {() => Record<string, unknown>} hello what this page has, for the hello message
 * @property {(message: any) => void} onMessage
 * @property {(link: Link) => void} onLink
 * @property {() => number} owedS seconds since an ACK was due
 * @typedef {{socketUrl: string, ticketUrl: () => string, csrfToken: string, protocol: Protocol}} Addresses
 */

const BACKOFF_MIN_S = 0.25;
const BACKOFF_MAX_S = 8;
const TICKET_LIMIT_MS = 8000;
const WELCOME_LIMIT_MS = 25000; // right after its start the server loads the speech model first
const HEARTBEAT_MS = 5000;
const SILENT_MS = 15000; // W11
const OWED_S = 5; // W12
const BUFFERED_BYTES = 256 * 1024;
const CLOSE_UNAUTHENTICATED = 4401;
const CLOSE_SUPERSEDED = 4409;
const CLOSE_OURS = 4000;

/** Full jitter: a crowd that lost one server does not come back as one. @param {number} attempt @returns {number} ms */
export function backoffMs(attempt, random = Math.random) {
  const ceiling = Math.min(BACKOFF_MAX_S, BACKOFF_MIN_S * 2 ** attempt);
  return 1000 * Math.max(BACKOFF_MIN_S / 2, random() * ceiling);
}

/** @param {string} path @returns {string} */
export function socketAddress(path) {
  const url = new URL(path, location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}

export class LiveSocket {
  /** @param {Addresses} addresses @param {Handlers} handlers */
  constructor(addresses, handlers) {
    this.addresses = addresses;
    this.handlers = handlers;
    /** @type {WebSocket | null} */
    this.socket = null;
    this.attempt = 0;
    this.round = 0; // identifies one connection attempt; what an older one reports is ignored
    this.welcomed = false;
    this.over = false;
    this.resume = ""; // the token of the last welcome: it opens one socket, without a ticket
    this.resuming = false;
    this.draining = false; // a time to come back was drawn already
    this.retryTimer = 0;
    this.watchTimer = 0;
    this.heardAt = 0;
    this.beatAt = 0;
    addEventListener("online", () => this.#hurry());
    addEventListener("offline", () => this.#lost());
  }

  connect() {
    clearTimeout(this.retryTimer);
    this.over = false;
    this.attempt = 0;
    this.#open();
  }

  /** The interview is over, or this page leaves it. */
  close() {
    this.over = true;
    this.resume = "";
    clearTimeout(this.retryTimer);
    this.#drop();
  }

  /** @param {Record<string, unknown>} message @returns {boolean} whether a connection took it */
  tell(message) {
    if (!this.welcomed || this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  /** @param {Uint8Array<ArrayBuffer>} bytes @returns {boolean} */
  sendFrame(bytes) {
    const socket = this.socket;
    if (!this.welcomed || socket?.readyState !== WebSocket.OPEN) return false;
    if (socket.bufferedAmount > BUFFERED_BYTES) return false; // the network is slower than speech
    socket.send(bytes);
    return true;
  }

  async #open() {
    this.round += 1;
    const round = this.round;
    this.draining = false;
    this.handlers.onLink(this.#waitingState());
    const ticket = this.resume ? "" : await this.#ticket(round);
    if (round !== this.round || this.over || ticket === null) return;
    const socket = new WebSocket(this.addresses.socketUrl, this.addresses.protocol.subprotocol);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    this.welcomed = false;
    this.heardAt = performance.now();
    socket.addEventListener("open", () => {
      if (round !== this.round) return;
      this.resuming = ticket === "";
      const way = this.resuming ? { resume: this.resume } : { ticket };
      this.resume = ""; // single use, whether or not a welcome follows
      socket.send(JSON.stringify({ type: "hello", ...way, ...this.handlers.hello() }));
    });
    socket.addEventListener("message", ({ data }) => round === this.round && this.#message(data));
    socket.addEventListener("close", ({ code }) => round === this.round && this.#closed(code));
    clearInterval(this.watchTimer);
    this.watchTimer = setInterval(() => this.#watch(), 1000);
    this.beatAt = performance.now();
  }

  /** @param {number} round @returns {Promise<string | null>} null: no ticket now; a retry is under way or the end was told */
  async #ticket(round) {
    try {
      const response = await fetch(this.addresses.ticketUrl(), {
        method: "POST",
        headers: { "X-CSRFToken": this.addresses.csrfToken },
        credentials: "same-origin",
        signal: AbortSignal.timeout(TICKET_LIMIT_MS),
      });
      if (response.ok) return (await response.json()).ticket;
      if (round === this.round) this.#refused(response);
    } catch {
      if (round === this.round) this.#retry();
    }
    return null;
  }

  /** @param {Response} response */
  #refused(response) {
    if (response.status === 404) this.#end("gone");
    else if (response.status === 409) this.#end("finished");
    else if (response.status === 403) this.#end("refused");
    else this.#retry(Number(response.headers.get("Retry-After")) || 0);
  }

  /** @param {unknown} data */
  #message(data) {
    this.heardAt = performance.now();
    if (typeof data !== "string") return;
    const message = JSON.parse(data);
    if (message.type === "heartbeat") {
      this.tell({ type: "heartbeat", n: message.n ?? 0 });
      return;
    }
    if (message.type === "drain") {
      this.#reconnectWithin(Number(message.spread_ms) || 0);
      return;
    }
    if (message.type === "welcome") {
      this.welcomed = true;
      this.attempt = 0;
      this.resume = message.resume_token || "";
      this.resuming = false;
      this.handlers.onLink("live");
    }
    this.handlers.onMessage(message);
  }

  /** @param {number} code */
  #closed(code) {
    this.#drop();
    if (this.over) return;
    if (this.draining) {
      this.handlers.onLink(this.#waitingState());
      return;
    }
    const rule = this.addresses.protocol.close_codes[String(code)];
    if (code === CLOSE_SUPERSEDED) this.#end("superseded");
    else if (code === CLOSE_UNAUTHENTICATED && this.resuming) this.#open(); // once, with a ticket
    else if (rule?.retry === false) this.#end("refused");
    else this.#retry((Math.random() * (rule?.spread_ms ?? 0)) / 1000);
  }

  #watch() {
    const now = performance.now();
    if (this.welcomed && now - this.beatAt >= HEARTBEAT_MS) {
      this.beatAt = now;
      this.tell({ type: "heartbeat" });
    }
    const limit = this.welcomed ? SILENT_MS : WELCOME_LIMIT_MS;
    if (now - this.heardAt > limit || (this.welcomed && this.handlers.owedS() > OWED_S)) {
      this.#drop();
      this.#retry();
    }
  }

  /** @param {number} [atLeastS] */
  #retry(atLeastS = 0) {
    if (this.over) return;
    this.handlers.onLink(this.#waitingState());
    const wait = Math.max(atLeastS * 1000, backoffMs(this.attempt));
    this.attempt += 1;
    clearTimeout(this.retryTimer);
    this.retryTimer = setTimeout(() => this.#open(), wait);
  }

  /** @param {number} spreadMs */
  #reconnectWithin(spreadMs) {
    this.draining = true;
    clearTimeout(this.retryTimer);
    this.retryTimer = setTimeout(() => {
      this.#drop();
      this.#open();
    }, Math.max(1000 * BACKOFF_MIN_S, Math.random() * spreadMs));
  }

  /** The network is back: the old connection may be dead without having said so. */
  #hurry() {
    if (this.over || this.round === 0) return;
    clearTimeout(this.retryTimer);
    this.attempt = 0;
    this.#drop();
    this.#open();
  }

  /** What stands now may hear of it much later, or never; without any network this machine's own server still answers. */
  #lost() {
    if (this.over || this.round === 0) return;
    this.#drop();
    this.#retry();
  }

  /** @returns {Link} */
  #waitingState() {
    if (!navigator.onLine) return "offline";
    return this.attempt === 0 && this.heardAt === 0 ? "connecting" : "reconnecting";
  }

  /** @param {Link} link */
  #end(link) {
    this.over = true;
    this.#drop();
    this.handlers.onLink(link);
  }

  #drop() {
    clearInterval(this.watchTimer);
    this.round += 1;
    this.welcomed = false;
    const socket = this.socket;
    this.socket = null;
    if (socket && socket.readyState <= WebSocket.OPEN) socket.close(CLOSE_OURS);
  }
}
