// What the camera screen tells the shopper to do: text, icon, cue and progress.
import { element, keyed } from "./dom.js";

/** @typedef {import("./stream.js").Guidance} Guidance */

const stage = element("stage", HTMLElement);
const cue = element("cue", HTMLElement);
const sentence = element("guidance-text", HTMLElement);
const note = element("guidance-hint", HTMLElement);
const sign = element("guidance-icon", HTMLElement);
const ring = element("progress", SVGPathElement);
const texts = keyed(element("texts", HTMLTemplateElement).content);
const icons = keyed(element("icons", HTMLTemplateElement).content);

/**
 * Where in the preview the cue of a prompt is placed.
 * @type {Record<string, string>}
 */
const sides = { "prompt.turn_left": "left", "prompt.turn_right": "right", "prompt.look_up": "top", "prompt.look_down": "bottom", "prompt.up_left": "left", "prompt.down_left": "left", "prompt.up_right": "right", "prompt.down_right": "right" };

let lastSeen = "";
let lastShown = "";

/**
 * Returns a text of the page.
 * @param {string} key
 */
export const text = (key) => texts.get(key)?.textContent ?? "";

/**
 * Shows what to do: a prompt at once, anything else when two answers in a row
 * agree, so that texts do not flicker.
 * @param {Guidance} answer
 */
export function guide({ guidance, prompt, hint, done, total }) {
  const good = guidance === "ok";
  const key = good && prompt ? `prompt.${prompt}` : guidance;
  stage.classList.toggle("good", good);
  note.textContent = good && hint ? text(`hint.${hint}`) : "";
  progress(done, total);
  const settled = key === lastSeen || lastShown === "" || key.startsWith("prompt.");
  lastSeen = key;
  if (!settled || key === lastShown) return;
  lastShown = key;
  sentence.textContent = text(key) || text("hold_still");
  sign.replaceChildren(...icon(key));
  cue.dataset.side = sides[key] ?? "";
  cue.replaceChildren(...(sides[key] ? icon(key) : []));
}

/**
 * Shows how far the check is.
 * @param {number} done
 * @param {number} total
 */
export function progress(done, total) {
  ring.style.strokeDasharray = `${Math.round((100 * done) / Math.max(1, total))} 100`;
}

/**
 * Returns a copy of the icon of a text; texts without one show the oval.
 * @param {string} key
 */
function icon(key) {
  const found = icons.get(key) ?? icons.get("oval");
  return found ? [...found.children].map((child) => child.cloneNode(true)) : [];
}
