// More time for a prompt: offered for as long as the server would grant it, by
// a button and by the Enter key.
import { element } from "./dom.js";
import { remark, text } from "./guide.js";

/** @typedef {import("./stream.js").Guidance} Guidance */

/** From so many milliseconds left on, the offer stands out and is spoken. */
const low = 10_000;

const button = element("more-time", HTMLButtonElement);

let left = 0; // milliseconds, at the last answer
let asked = false; // and not yet answered

/**
 * Offers more time as the server's answer allows, and says when it was given.
 * @param {Guidance} answer
 */
export function offerTime({ prompt, remaining, more }) {
  const offered = Boolean(prompt) && more;
  const runsLow = offered && remaining <= low;
  if (asked && remaining > left) {
    asked = false;
    remark(text("time_given"));
  }
  if (runsLow && !button.classList.contains("primary")) remark(text("time_low"));
  button.classList.toggle("primary", runsLow);
  button.hidden = !offered;
  left = remaining;
}

/** Withdraws the offer, because the prompt it was for is gone. */
export function withdrawTime() {
  asked = false;
  button.hidden = true;
  button.classList.remove("primary");
}

/**
 * Calls ask when the person wants more time.
 * @param {() => void} ask
 */
export function onMoreTime(ask) {
  button.addEventListener("click", () => {
    asked = true;
    ask();
  });
  document.addEventListener("keydown", (event) => {
    const busy = event.target instanceof Element && event.target.closest("a, button, select, input, summary, textarea");
    if (event.key !== "Enter" || event.repeat || event.ctrlKey || event.altKey || event.metaKey || busy) return;
    if (!button.hidden && button.offsetParent) button.click(); // it is in view, on the screen that is shown
  });
}
