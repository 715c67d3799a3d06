// The report: quotes play their own words, and the page prints whole. Works by delegation: the body is swapped once.

const AFTER_S = 0.15; // a breath, so that the last sound is not cut

/** @type {{audio: HTMLAudioElement, end: number, button: HTMLElement} | null} */
let playing = null;

/** @param {HTMLElement} button */
async function play(button) {
  const audio = document.getElementById(button.dataset.audio || "");
  if (!(audio instanceof HTMLAudioElement)) return;
  stop();
  audio.currentTime = Math.max(0, Number(button.dataset.start) - AFTER_S);
  playing = { audio, end: Number(button.dataset.end) + AFTER_S, button };
  button.dataset.playing = "";
  try {
    await audio.play();
  } catch {
    stop(); // the recording is gone or the browser refused; the player beside it says so
  }
}

function stop() {
  if (!playing) return;
  playing.audio.pause();
  delete playing.button.dataset.playing;
  playing = null;
}

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest("button.quote") : null;
  if (button instanceof HTMLElement) play(button);
});
// Media events do not bubble, but they can be caught on the way down.
document.addEventListener("timeupdate", (event) => {
  if (playing && event.target === playing.audio && playing.audio.currentTime >= playing.end) stop();
}, true);

const button = document.getElementById("print");
if (button) {
  button.hidden = false;
  button.addEventListener("click", () => globalThis.print());
}

// The body is swapped under a reader's eyes: what was unfolded stays so.
/** @type {string[]} */
let unfolded = [];
document.addEventListener("htmx:beforeSwap", () => {
  unfolded = [...document.querySelectorAll("details[open][id]")].map((details) => details.id);
});
document.addEventListener("htmx:afterSwap", () => {
  for (const id of unfolded) document.getElementById(id)?.setAttribute("open", "");
});

// Paper cannot be clicked: it shows every detail.
/** @type {HTMLDetailsElement[]} */
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details")].filter((details) => !details.open);
  for (const details of opened) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
  opened = [];
});

export {}; // a module: its names are its own
