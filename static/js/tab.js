// Two tabs of one interview: the second asks before it takes over.

const ASK_MS = 200;

/**
 * Whether another tab of this browser holds the interview. From now on this tab answers for itself.
 * @param {string} interview
 * @returns {Promise<boolean>}
 */
export function openElsewhere(interview) {
  if (!globalThis.BroadcastChannel) return Promise.resolve(false);
  const channel = new BroadcastChannel(`viva.${interview}`);
  const self = Math.random();
  return new Promise((resolve) => {
    channel.onmessage = ({ data }) => {
      if (data.ask) channel.postMessage({ here: self, to: data.ask });
      else if (data.to === self) resolve(true);
    };
    channel.postMessage({ ask: self });
    setTimeout(() => resolve(false), ASK_MS);
  });
}
