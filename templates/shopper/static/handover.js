// Follows a hand-over: the page changes with what the phone does.
import { element } from "./dom.js";

/** Time between two looks at the server, in milliseconds. */
const pause = 2000;
const page = element("handover", HTMLElement);
const link = page.dataset.link ?? "";

async function follow() {
  try {
    const answer = await fetch(`${link}/handover/state`, { cache: "no-store" });
    const { state } = await answer.json();
    if (state === "over") {
      location.replace(link);
      return;
    }
    if (state !== page.dataset.state) {
      location.replace(location.pathname);
      return;
    }
  } catch {
    // No network or no answer: the next look may have one.
  }
  setTimeout(follow, pause);
}

setTimeout(follow, pause);
