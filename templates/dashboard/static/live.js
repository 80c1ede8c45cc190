// Loads what a page shows later: its parts, again and again, and dialogs.
//
// <section data-live="name"> is replaced by what the page's own address answers to
// ?part=name. A part with the focus or a selection in it is left alone.

const every = 5000;
// While a part contains [data-soon], something is about to happen. It is kept up to
// date more often for a time, and at once when the page comes into view.
// [data-over] ends that.
const soon = 2e3;
const soonFor = 600_000;

/** @type {((root: ParentNode) => void)[]} */
const listeners = [];

/** Calls fn with each part that is new on the page. @param {(root: ParentNode) => void} fn */
export function added(fn) { listeners.push(fn); }

/** Calls what listens for a part that is new on the page. @param {ParentNode} root */
export function show(root) {
  for (const fn of listeners) fn(root);
}

/**
 * Gets a page, or posts a form. The browser parses the answer, since scripts have no
 * sink for markup.
 * @param {string | URL} address
 * @param {(request: XMLHttpRequest) => void} done
 * @param {string} tag of the version that is known, or empty
 * @param {URLSearchParams} [form]
 */
export function load(address, done, tag = "", form) {
  const request = new XMLHttpRequest();
  request.open(form ? "POST" : "GET", address);
  request.responseType = "document";
  request.timeout = 2 * every;
  if (tag) request.setRequestHeader("If-None-Match", tag);
  request.onloadend = () => done(request);
  request.send(form);
}

/** Starts to keep the page's parts up to date. */
export function live() {
  for (const part of document.querySelectorAll("[data-live]")) follow(part);
}

/** @param {Element} part */
function follow(part) {
  let tag = "";
  const address = new URL(location.href);
  address.searchParams.set("part", part.getAttribute("data-live") ?? "");
  address.hash = "";
  let timer = 0; // 0 during a request
  const wait = () => {
    if (!part.querySelector("[data-over]"))
      timer = setTimeout(look, part.querySelector("[data-soon]") && performance.now() < soonFor ? soon : every);
  };
  const look = () => {
    if (document.hidden || busy(part)) return wait();
    timer = 0;
    load(address, (request) => {
      if ([401, 403, 404].includes(request.status)) return;
      const body = request.status === 200 && !request.responseURL.includes("/login") ? request.responseXML?.body : null;
      if (body && !busy(part)) {
        part.replaceChildren(...body.childNodes);
        tag = request.getResponseHeader("ETag") ?? "";
        show(part);
      }
      wait();
    }, tag);
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden || !timer) return;
    clearTimeout(timer);
    look();
  });
  wait();
}

/** @param {Element} part */
function busy(part) {
  const selection = getSelection();
  // A dialog gives the focus back to the link that opened it.
  return !!document.querySelector("dialog") || part.contains(document.activeElement) || !!selection && !selection.isCollapsed && part.contains(selection.anchorNode);
}

// Confirmations over the page that asks for them: what <a data-dialog> leads to is
// shown as a dialog. Anything else that the address answers is opened as a page.
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
