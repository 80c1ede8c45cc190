// Asks a wallet for a proof of age by the browser's Digital Credentials API,
// where there is one, and follows what an answer by link or QR code led to.
import { element, keyed } from "./dom.js";
import { follow } from "./follow.js";

const page = element("wallet", HTMLElement);
const link = page.dataset.link ?? "";
const said = element("said", HTMLElement);
const ask = element("ask", HTMLButtonElement);
const texts = keyed(element("texts", HTMLTemplateElement).content);

/**
 * @typedef {{ protocol: string, data: unknown }} WalletRequest
 * @typedef {{ userAgentAllowsProtocol?: (protocol: string) => boolean }} DigitalCredentials
 */

/** Milliseconds within which an app that was opened covers the page. */
const opening = 2500;

/**
 * Says something to the shopper.
 * @param {string} key of the page's texts
 */
function say(key) {
  said.textContent = texts.get(key)?.textContent ?? "";
  said.classList.toggle("problem", key !== "asking");
}

/**
 * Returns the requests that the browser can make.
 * @returns {WalletRequest[]}
 */
function requests() {
  /** @type {DigitalCredentials | undefined} */
  const api = /** @type {any} */ (window).DigitalCredential;
  if (!api) return [];
  /** @type {WalletRequest[]} */
  const all = JSON.parse(page.dataset.requests ?? "[]");
  return all.filter(({ protocol }) => api.userAgentAllowsProtocol?.(protocol) ?? true);
}

async function present() {
  ask.disabled = true;
  say("asking");
  const waiting = setTimeout(() => {
    said.textContent += ` ${texts.get("nothing")?.textContent ?? ""}`;
    for (const fold of ["#others", "[data-app] details"]) page.querySelector(fold)?.setAttribute("open", "");
  }, opening);
  let credential;
  try {
    const options = { mediation: "required", digital: { requests: requests() } };
    credential = /** @type {any} */ (await navigator.credentials.get(/** @type {any} */ (options)));
  } catch {
    credential = null; // the shopper closed the browser's dialog, or there is no wallet
  }
  clearTimeout(waiting);
  try {
    if (!credential) throw new Error("no wallet answered");
    const { protocol, data } = credential;
    const answer = await fetch(`${link}/wallet/browser`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ protocol, data: typeof data === "string" ? JSON.parse(data) : data }),
    });
    if (!answer.ok) throw new Error("the answer was not taken");
    const { next, refused } = await answer.json();
    if (next) {
      location.replace(next);
      return;
    }
    say(refused);
  } catch {
    say("cancelled");
  }
  ask.disabled = false;
}

if (requests().length > 0) {
  element("asking", HTMLElement).hidden = false;
  // A phone keeps two ways in view, one of them the main one.
  const [first, second] = page.querySelectorAll(":scope > .actions > a[data-open]");
  first?.classList.remove("primary");
  for (const part of [second?.parentElement?.nextElementSibling, second?.parentElement]) {
    if (part) page.querySelector("#others + .folded")?.prepend(part);
  }
  page.querySelector(":scope > [data-app] details")?.removeAttribute("open"); // nor does a desktop show its code at once
  ask.addEventListener("click", present);
}

for (const open of page.querySelectorAll("a[data-open]")) {
  const name = open.getAttribute("data-open");
  const nothing = page.querySelector(`[data-nothing="${name}"]`);
  open.addEventListener("click", () => setTimeout(() => {
    if (document.hidden || !nothing) return;
    for (const fold of page.querySelectorAll(`#others, [data-app="${name}"] details`)) fold.setAttribute("open", "");
    nothing.textContent = texts.get("nothing")?.textContent ?? "";
  }, opening));
}

follow(`${link}/wallet/state`, page.dataset.state ?? "");
