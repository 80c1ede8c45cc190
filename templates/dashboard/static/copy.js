// Buttons that copy. They are hidden in the page, and shown here where they work.
import { added } from "./live.js";

/** @param {ParentNode} root */
function show(root) {
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

show(document);
added(show);
