// Typed access to the elements that a page's script works with.

/**
 * Returns the element with an id. Throws if the page has none of that type,
 * because template and script then do not belong together.
 * @template {Element} T
 * @param {string} id
 * @param {new () => T} type
 * @returns {T}
 */
export function element(id, type) {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`the page has no ${type.name} #${id}`);
  return found;
}

/**
 * Returns the elements below root that have a data-key attribute, by key.
 * @param {ParentNode} root
 */
export function keyed(root) {
  /** @type {Map<string, HTMLElement>} */
  const found = new Map();
  for (const e of root.querySelectorAll("[data-key]")) {
    if (e instanceof HTMLElement) found.set(e.dataset.key ?? "", e);
  }
  return found;
}
