// Confirmations over the page that asks for them: what <a data-dialog> leads to is
// shown as a dialog. Whatever else the address answers, such as the question who
// one is, is opened as a page.
import { load, show } from "./live.js";

let asking = false;

document.addEventListener("click", (event) => {
  const clicked = event.target instanceof Element ? event.target : null;
  if (!clicked || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const link = clicked.closest("a[data-dialog]");
  const dialog = clicked.closest("[data-cancel]") ? clicked.closest("dialog") : null;
  if (!link && !dialog) return;
  event.preventDefault();
  dialog?.close();
  if (!(link instanceof HTMLAnchorElement) || asking) return;
  asking = true;
  load(link.href, (request) => {
    asking = false;
    const asked = request.responseURL === link.href ? request.responseXML?.querySelector(".ask:has([data-cancel])") : null;
    if (asked) ask(asked, link.href);
    else location.assign(link.href);
  });
});

/** @param {Element} asked @param {string} address */
function ask(asked, address) {
  const dialog = document.createElement("dialog");
  for (const form of asked.querySelectorAll("form")) form.action = address; // it posts to its page's own
  // Where nothing has to be chosen, Enter must not be the act.
  if (!asked.querySelector("select")) asked.querySelector("[data-cancel]")?.setAttribute("autofocus", "");
  asked.querySelector("h1")?.setAttribute("id", "asked");
  dialog.setAttribute("aria-labelledby", "asked");
  dialog.append(asked);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  show(dialog);
  dialog.showModal();
}
