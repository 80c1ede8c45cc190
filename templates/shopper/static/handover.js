// Follows a hand-over: the page changes with what the phone does. Its link can
// be copied.
import { element } from "./dom.js";
import { follow } from "./follow.js";

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

follow(`${link}/handover/state`, page.dataset.state ?? "");
