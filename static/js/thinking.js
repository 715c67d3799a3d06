// "I'm thinking": time that is asked for. It ends with the next words, which the server tells of, or when it is up.

export class ThinkingTime {
  /** @param {import("./live.js").LivePage} page */
  constructor(page) {
    this.page = page;
    this.untilS = Infinity; // of the answer's sound
  }

  ask() {
    const { page } = this;
    const { turn } = page.conversation;
    if (!turn) return;
    this.untilS = Infinity;
    page.facts.turn = "thinking";
    page.answering.command({ type: "thinking", answer: turn });
    page.show();
  }

  /**
   * The server counts silence from then on. It said so before, if the page was loaded again meanwhile.
   * @param {{at_s: number, until_s: number}} event
   */
  granted({ at_s: atS, until_s: untilS }) {
    const { page } = this;
    page.answering.waited();
    if (untilS <= atS) return; // somebody is there, and thinks no longer
    this.untilS = untilS;
    page.facts.turn = "thinking";
  }

  /** A little more sound: is the time up? */
  captured() {
    const { page } = this;
    if (page.facts.turn !== "thinking" || page.recordedS < this.untilS) return;
    page.facts.turn = page.conversation.spoke ? "paused" : "open";
    page.show();
  }
}
