// What the pages offer beyond reading: search, one choice of language for all
// samples, and buttons that copy. Without this script the rest works.

import { Index, cut, entriesOf, translated } from "./search.js";

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

/** @typedef {import("./search.js").Found} Found @typedef {import("./search.js").Entry} Entry */

const most = 8; // results in the list; Enter leads to all
const field = element("search", HTMLInputElement);
const panel = element("found", HTMLElement);
const list = element("found-list", HTMLUListElement);
const count = element("found-count", HTMLElement);
const form = field.form;
const params = new URLSearchParams(location.search || location.hash.slice(1));
const lang = params.get("lang") === "de" ? "de" : document.documentElement.lang; // of who asks
let active = -1; // the selected option
let timer = 0;
let asked = 0; // queries so far
/** @type {Promise<Index> | undefined} */
let index; // loaded when it is first needed
/** @type {Promise<string> | undefined} */
let text; // likewise, of the translation

field.role = "combobox";
field.setAttribute("aria-autocomplete", "list");
field.setAttribute("aria-controls", list.id);

/** @param {string} tag @param {...(string | Node)} parts */
function made(tag, ...parts) {
  const node = document.createElement(tag);
  node.append(...parts);
  return node;
}

/** Finds what a query asks for. What is in another language than the page has its texts loaded too. @param {string} query */
async function search(query) {
  index ??= fetch(form?.dataset.index ?? "").then(async (answer) => {
    const all = entriesOf(await answer.json());
    const path = all.find((entry) => entry.lang === lang)?.url.split("#")[0];
    return new Index(path ? translated(all, path, await (await fetch(`${path}.md`)).text()) : all, lang, location.pathname.match(/^.*\/support\b/)?.[0]);
  });
  try {
    const found = (await index).search(query);
    const path = found.find((of) => of.lang && of.lang !== lang)?.url.split("#")[0];
    if (!path) return found;
    text ??= fetch(`${path}.md`).then((answer) => answer.text());
    const texts = translated(found.map((of) => ({ ...of, text: of.after })), path, await text);
    return found.map((of) => (of.after ? of : { ...of, after: cut(texts.find(({ url }) => url === of.url)?.text ?? "") }));
  } catch (error) {
    index = undefined; // the next query tries again
    throw error;
  }
}

const says = lang === "de" ? { result: "Treffer", results: "Treffer", more: "Enter zeigt alle.", none: "Nichts gefunden", for: "für", try: "Versuchen Sie es mit einem Wort." }
  : { result: "result", results: "results", more: "Enter shows all.", none: "Nothing found", for: "for", try: "Try one word, or the name of a field." };

/** @param {Found[]} results */
const counted = (results) => (results.length ? `${results.length} ${results.length === 1 ? says.result : says.results}` : says.none);

/** @param {Found} result */
const excerpt = (result) => [result.before, made("mark", result.match), result.after];

/** A result in a list, in its language. @param {Found} result @param {...(string | Node)} parts */
function item(result, ...parts) {
  const node = made("li", ...parts);
  node.lang = result.lang ?? "en";
  return node;
}

/** @param {Found} result @param {number} i */
function option(result, i) {
  const node = item(result, made("b", result.title, " ", made("small", result.page)), made("span", ...excerpt(result)));
  node.id = `found-${i}`;
  node.role = "option";
  node.ariaSelected = "false";
  node.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
  node.addEventListener("click", () => open(result.url));
  node.dataset.url = result.url;
  return node;
}

/** @param {string} [address] */
function open(address) {
  if (!address) return;
  close();
  location.assign(address);
}

/** @param {number} to */
function select(to) {
  const options = [...list.children];
  active = options.length ? (to + options.length + 1) % (options.length + 1) : -1; // one place is the field itself
  if (active === options.length) active = -1;
  for (const [i, node] of options.entries()) node.ariaSelected = String(i === active);
  if (active < 0) return field.removeAttribute("aria-activedescendant");
  field.setAttribute("aria-activedescendant", options[active].id);
  options[active].scrollIntoView({ block: "nearest" });
}

/** @param {boolean} shown */
function expand(shown) {
  panel.hidden = !shown;
  field.ariaExpanded = String(shown);
}

function close() {
  clearTimeout(timer);
  asked++;
  select(-1);
  count.textContent = "";
  list.replaceChildren();
  expand(false);
}

async function ask() {
  const query = field.value.trim();
  if (!query) return close();
  const mine = ++asked;
  const results = await search(query);
  if (mine !== asked) return;
  list.replaceChildren(...results.slice(0, most).map(option));
  select(-1);
  count.textContent = `${counted(results)}.${results.length ? ` ${says.more}` : ""}`;
  expand(true);
}

/** Shows all that a query finds, on the first page of the documentation. @param {string} query */
async function showAll(query) {
  field.value = query;
  const results = await search(query);
  const all = made("ul", ...results.map((result) => {
    const link = document.createElement("a");
    [link.href, link.textContent] = [result.url, result.title];
    return item(result, link, " ", made("small", result.page), made("p", ...excerpt(result)));
  }));
  all.className = "results";
  const said = element("all-found", HTMLElement);
  said.lang = lang;
  said.textContent = `${counted(results)} ${says.for} “${query}”${results.length ? "" : `. ${says.try}`}`;
  if (!results.length) return;
  said.previousElementSibling?.remove();
  said.nextElementSibling?.replaceWith(all);
}

form?.querySelector("kbd")?.removeAttribute("hidden");
expand(false);
field.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(ask, 120);
});
field.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !panel.hidden) close();
  else if (event.key === "ArrowDown" && panel.hidden) ask();
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") select(event.key === "ArrowDown" ? active + 1 : active < 0 ? list.children.length - 1 : active - 1);
  else if (event.key === "Enter" && active >= 0) open(list.querySelector('[aria-selected="true"]')?.getAttribute("data-url") ?? "");
  else return;
  event.preventDefault();
});
form?.addEventListener("focusout", (event) => {
  if (!(event.relatedTarget instanceof Node && form.contains(event.relatedTarget))) close();
});
addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.matches("input:not([type=radio]), textarea, select");
  if (event.key === "/" ? typing || event.ctrlKey || event.metaKey || event.altKey : !(event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey))) return;
  event.preventDefault();
  field.focus();
  field.select();
});

// The dashboard hands over what it did not find behind a "#", which no server sees.
const query = params.get("q")?.trim();
if (query && location.pathname === "/docs") showAll(query);
// The reference was at /docs before, and links to its parts are kept elsewhere.
else if (location.pathname === "/docs" && location.hash && !document.getElementById(location.hash.slice(1))) location.replace(`/docs/reference${location.hash}`);

// On a small screen only the part of the navigation with this page is open, if any.
const here = document.querySelector(".contents [aria-current]");
if (!matchMedia("(min-width: 60rem)").matches) {
  for (const part of document.querySelectorAll(".contents details")) part.toggleAttribute("open", part.contains(here));
}

// In a low window the entry of the page can be below the others.
here?.scrollIntoView({ block: "nearest" });

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

for (const block of document.querySelectorAll(".block")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const shown = [...block.querySelectorAll("pre")].find((pre) => pre.checkVisibility());
    await navigator.clipboard.writeText(shown?.querySelector("code")?.textContent ?? "");
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  block.querySelector(".head")?.append(button);
}
