// Recruiters' pages: move through the list by key, hear a quote where it was said.

/** @returns {HTMLAnchorElement[]} */
function rows() {
  return [...document.querySelectorAll("a[data-row]")];
}

/** @param {number} step */
function move(step) {
  const all = rows();
  const now = all.findIndex((row) => row.closest("tr")?.contains(document.activeElement));
  const next = now < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, now + step));
  all[next]?.focus();
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  return target instanceof HTMLElement && target.matches("input, select, textarea, [contenteditable]");
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (event.key === "/") {
    const search = document.getElementById("q");
    if (!search) return;
    event.preventDefault();
    search.focus();
  } else if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
});

/** The quote that is being heard, and where it ends. @type {{button: HTMLElement, endS: number} | null} */
let heard = null;

function quiet() {
  heard?.button.setAttribute("aria-pressed", "false");
  heard = null;
}

/** @param {HTMLElement} button */
async function hear(button) {
  const audio = document.getElementById(button.dataset.audio ?? "");
  if (!(audio instanceof HTMLAudioElement)) return;
  const again = heard?.button === button && !audio.paused;
  quiet();
  for (const other of document.querySelectorAll("audio")) if (other !== audio || again) other.pause();
  if (again) return;
  heard = { button, endS: Number(button.dataset.endS) + 0.4 };
  button.setAttribute("aria-pressed", "true");
  audio.currentTime = Math.max(0, Number(button.dataset.startS) - 0.2);
  try {
    await audio.play();
  } catch {
    quiet(); // the player shows by itself that it cannot play
  }
}

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest("button.quote") : null;
  if (button instanceof HTMLElement) hear(button);
});

document.addEventListener("timeupdate", (event) => {
  if (!heard || !(event.target instanceof HTMLAudioElement) || event.target.id !== heard.button.dataset.audio) return;
  if (event.target.currentTime >= heard.endS) {
    event.target.pause();
    quiet();
  }
}, true);
