// What each message of the server does to the interview page.

/** @param {import("./live.js").LivePage} page @returns {Record<string, (event: any) => void>} by type */
export function eventHandlers(page) {
  const { conversation, feedback, facts } = page;
  const { uplink } = page.answering;
  /** @param {(event: any) => void} act @returns {(event: any) => void} for the question on the table only */
  const current = (act) => (event) => { if (event.turn === conversation.turn) act(event); };
  return {
    welcome: (message) => page.welcomed(message),
    ack: (message) => uplink.ack(message),
    nack: (message) => uplink.nack(message),
    committed: ({ answer }) => uplink.committed(answer),
    "session.ready": ({ mode }) => page.mode(mode),
    "mode.changed": ({ mode }) => page.mode(mode),
    "question.asked": (event) => {
      page.attendance.over("session_paused");
      page.asked(event);
    },
    "answer.opened": ({ turn }) => page.opened(turn),
    "speech.started": current((event) => {
      conversation.spoke = true;
      facts.turn = "speaking";
      page.attendance.over();
      page.trouble.heard();
      conversation.timer.speechStarted(event.at_s);
    }),
    "transcript.partial": current((event) => {
      conversation.change(event.turn, (words) => words.partial(event));
      if (facts.turn === "paused") facts.turn = "speaking";
    }),
    "transcript.final": (event) => {
      conversation.change(event.turn, (words) => words.final(event));
      if (event.turn === conversation.turn) {
        conversation.spoke = true;
        page.trouble.heard();
      }
      page.calm();
    },
    "audio.missing": (event) => conversation.change(event.turn, (words) => words.lost(event)),
    "turn.paused": current(() => { if (facts.turn !== "thinking") facts.turn = "paused"; }),
    "turn.resumed": current(() => {
      facts.turn = "speaking";
      page.attendance.over();
    }),
    "turn.waits": current((event) => page.thinking.granted(event)),
    "turn.silent": current(({ turn }) => page.attendance.silent(turn)),
    "turn.time_left": current(({ left_s: leftS }) => conversation.nearlyOver(leftS)),
    "turn.ended": (event) => page.ended(event),
    "feedback.started": (event) => feedback.started(event),
    "feedback.score": (event) => {
      feedback.score(event);
      conversation.rescored(event);
    },
    "feedback.delta": (event) => feedback.delta(event),
    "feedback.withdrawn": (event) => feedback.withdrawn(event),
    "feedback.done": (event) => {
      feedback.done(event);
      if (event.turn === conversation.turn && facts.turn === "analysing" && !event.provisional) facts.turn = "asking";
    },
    "question.follow_up": (event) => feedback.followUp(event),
    "answer.corrected": (event) => conversation.corrected(event),
    "analysis.ready": () => {},
    "session.paused": () => page.attendance.paused(),
    "session.ended": ({ reason }) => page.over(reason),
    problem: ({ code }) => page.trouble.told(code),
    reload: () => page.reload(),
  };
}
