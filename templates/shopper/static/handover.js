// Follows a hand-over: the page changes with what the phone does. Its link can
// be copied.
import { element } from "./dom.js";

/** Time between two looks at the server, in milliseconds. */
const pause = 2000;
const page = element("handover", HTMLElement);
const link = page.dataset.link ?? "";

/** Copies the link, or selects it where the browser lets no script copy. */
async function copy() {
  const address = element("address", HTMLElement);
  try {
    await navigator.clipboard.writeText(address.textContent ?? "");
    const said = element("copied", HTMLElement);
    said.textContent = said.dataset.text ?? "";
  } catch {
    getSelection()?.selectAllChildren(address);
  }
}

if (page.dataset.state === "waiting") {
  element("copying", HTMLElement).hidden = false;
  element("copy", HTMLButtonElement).addEventListener("click", copy);
}

async function follow() {
  try {
    const answer = await fetch(`${link}/handover/state`, { cache: "no-store" });
    const { state } = await answer.json();
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
