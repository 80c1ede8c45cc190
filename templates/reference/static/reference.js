// What the pages offer beyond reading: search, one choice of language for all
// samples, and buttons that copy. Without this script the rest works.

/**
 * The element with an ID, of a class.
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} kind
 * @returns {T}
 */
function element(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`no ${kind.name} with the ID ${id}`);
  return found;
}

/** @typedef {{ title: string, page: string, url: string, text: string }} Entry */

const most = 12; // results shown
const field = element("search", HTMLInputElement);
const found = element("found", HTMLElement);
const list = element("found-list", HTMLUListElement);
const count = element("found-count", HTMLElement);

/** @type {Promise<Entry[]> | undefined} */
let index;
const load = () => (index ??= fetch("/docs/search.json").then((answer) => answer.json()));

/**
 * The entries that have every word, those with the words in the title first.
 * @param {Entry[]} entries
 * @param {string} query
 */
function search(entries, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  /** @type {(text: string) => boolean} */
  const has = (text) => words.every((word) => text.toLowerCase().includes(word));
  const titled = entries.filter((entry) => has(entry.title));
  return [...titled, ...entries.filter((entry) => !titled.includes(entry) && has(`${entry.title} ${entry.text}`))];
}

/** @param {Entry} entry */
function row(entry) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  const page = document.createElement("small");
  link.href = entry.url;
  link.textContent = entry.title;
  page.textContent = entry.page;
  link.append(page);
  item.append(link);
  return item;
}

async function show() {
  const query = field.value.trim();
  if (query === "") return close();
  const results = search(await load(), query);
  if (query !== field.value.trim()) return; // typed on meanwhile
  list.replaceChildren(...results.slice(0, most).map(row));
  count.textContent = results.length === 1 ? "1 result" : `${results.length} results`;
  found.hidden = false;
}

function close() {
  found.hidden = true;
  count.textContent = "";
  list.replaceChildren();
}

field.addEventListener("focus", load, { once: true });
field.addEventListener("input", show);
list.addEventListener("click", close);
for (const part of [field, found]) {
  part.addEventListener("keydown", (event) => {
    if (!(event instanceof KeyboardEvent) || event.key !== "Escape") return;
    close();
    field.focus();
  });
}
field.closest("search")?.removeAttribute("hidden");

const remembered = "agegate-docs-language";
const choices = [...document.querySelectorAll(".samples input")].filter((input) => input instanceof HTMLInputElement);

/** @param {string | null} language */
function choose(language) {
  for (const input of choices) if (input.value === language) input.checked = true;
}

choose(localStorage.getItem(remembered));
for (const input of choices) {
  input.addEventListener("change", () => {
    localStorage.setItem(remembered, input.value);
    choose(input.value);
  });
}

for (const block of document.querySelectorAll(".samples, .prose > pre, figure > pre, .shown > pre")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const shown = [block, ...block.querySelectorAll("pre")].find((pre) => pre instanceof HTMLPreElement && pre.checkVisibility());
    await navigator.clipboard.writeText(shown?.querySelector("code")?.textContent ?? "");
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  const frame = document.createElement("div");
  frame.className = "copied";
  block.replaceWith(frame);
  frame.append(block, button);
}
