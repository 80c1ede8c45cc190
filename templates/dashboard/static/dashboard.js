// What makes the pages handier where scripts run; everything works without.
import { charts } from "./chart.js";
import "./branding.js";
import { added, live } from "./live.js";
import { passkeys } from "./passkey.js";
import "./search.js";
import { localTimes, offerZones } from "./time.js";

added(localTimes);
added(offerCopies);
charts();
localTimes(document);
offerCopies(document);
setInterval(() => localTimes(document), 60_000);
offerZones();
live();
passkeys();

// Buttons that copy are shown where they work.
/** @param {ParentNode} root */
function offerCopies(root) {
  if (!navigator.clipboard) return;
  for (const button of root.querySelectorAll("[data-copy]")) button.removeAttribute("hidden");
}

document.addEventListener("click", async (event) => {
  const button = event.target instanceof Element ? event.target.closest("[data-copy]") : null;
  if (!button) return;
  await navigator.clipboard.writeText(button.getAttribute("data-copy") ?? "");
  const told = button.querySelector("[data-text]");
  if (!told) return;
  told.textContent = told.getAttribute("data-text");
  setTimeout(() => { told.textContent = ""; }, 2000);
});

// Focuses the summary of a form, which is sent once.
document.querySelector("[data-testid=summary]")?.scrollIntoView({ block: "nearest" });
/** @type {HTMLElement | null} */ (document.querySelector(".summary"))?.focus();

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.method !== "post" || event.submitter?.hasAttribute("formtarget")) return;
  if (form.dataset.sent) return event.preventDefault();
  form.dataset.sent = "1";
  for (const button of form.querySelectorAll("button")) button.setAttribute("aria-disabled", "true");
  setTimeout(again, form.dataset.stays ? 3000 : 10000);
});

// What is typed takes the mark of a fault from its field.
document.addEventListener("input", (event) => {
  const field = event.target instanceof Element ? event.target.closest(".wrong") : null;
  field?.querySelector("[aria-invalid]")?.removeAttribute("aria-invalid");
  field?.querySelector(".problem")?.remove();
});

// A page that stays or comes back, or was stopped, can be sent again.
function again() {
  for (const at of document.querySelectorAll("[data-sent], [aria-disabled]")) {
    at.removeAttribute("data-sent");
    at.removeAttribute("aria-disabled");
  }
}
addEventListener("pageshow", again);

// Details that are printed are opened for it.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details[data-print]")) details.setAttribute("open", "");
});
