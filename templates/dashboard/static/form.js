// Focuses the summary of a refused form, and sends a form once.

document.querySelector("[data-testid=summary]")?.scrollIntoView({ block: "nearest" });
/** @type {HTMLElement | null} */ (document.querySelector(".summary"))?.focus();

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.method !== "post" || event.submitter?.hasAttribute("formtarget")) return;
  if (form.dataset.sent) return event.preventDefault();
  form.dataset.sent = "1";
  for (const button of form.querySelectorAll("button")) button.setAttribute("aria-disabled", "true");
});

// A page that comes back from the browser's memory can be sent again.
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) {
    form.removeAttribute("data-sent");
    for (const button of form.querySelectorAll("button")) button.removeAttribute("aria-disabled");
  }
});
