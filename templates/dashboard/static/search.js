// The keys / and Ctrl-K (or Command-K) lead to the search, which shows what it finds
// while one types. The text is posted, so that it is in no address.
import { load, show } from "./live.js";

const field = /** @type {HTMLInputElement | null} */ (document.querySelector("[data-find]"));
if (field) {
  const [said, list] = field.form?.querySelector(".found")?.children ?? [];
  let timer = 0;
  const ask = () => {
    const text = field.value, address = `${field.form?.action}?part=found`;
    load(address, (request) => {
      if (text !== field.value || request.status !== 200 || request.responseURL !== address) return;
      const [first, ...rest] = request.responseXML?.body.children ?? [];
      said.textContent = first.textContent;
      list.replaceChildren(...rest);
      show(list);
    }, "", new URLSearchParams({ text }));
  };
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, 150);
  });
  // Lines that are pasted, such as a webhook's headers, open what they belong to.
  field.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text").trim() ?? "";
    if (!text.includes("\n")) return;
    event.preventDefault();
    field.value = text.replace(/\s+/g, " ");
    field.form?.requestSubmit();
  });
  field.form?.addEventListener("keydown", (event) => {
    const stops = [field, ...list.querySelectorAll("a")];
    const at = stops.findIndex((stop) => stop === event.target);
    const to = stops[event.key === "ArrowDown" ? at + 1 : event.key === "ArrowUp" ? at - 1 : -1];
    if (event.key === "Escape") said.textContent = "";
    if (to) event.preventDefault();
    to?.focus();
  });
}

addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.matches("input, textarea, select");
  const command = event.ctrlKey || event.metaKey;
  if (!field || !(event.key === "/" ? !typing && !command && !event.altKey : event.key === "k" && command)) return;
  event.preventDefault();
  field.focus();
  field.select();
});
