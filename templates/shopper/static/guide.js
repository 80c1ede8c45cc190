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

const help = element("help", HTMLElement);
const ways = element("ways", HTMLElement);

/** Milliseconds of one complaint after which the page explains it and offers other ways. */
const helpAfter = 10_000;
/**
 * Complaints that are explained with the words of another one.
 * @type {Record<string, string>}
 */
const causes = { hold_still: "blurred", bad_image: "blurred" };

let complaint = "";
let since = 0;
let explained = "";
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
export function guide({ guidance, phase, prompt, hint, done, total }) {
  const good = guidance === "ok";
  const key = good && prompt ? `prompt.${prompt}` : guidance;
  stage.classList.toggle("good", good);
  note.textContent = good && hint ? text(`hint.${hint}`) : "";
  progress(done, total);
  complain(phase === "framing" ? guidance : "");
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
 * Explains a complaint that lasts. The explanation stays until the next one or
 * until the challenge begins, so that nothing moves while the person tries.
 * @param {string} guidance while framing; otherwise ""
 */
function complain(guidance) {
  const now = performance.now();
  const cause = causes[guidance] ?? guidance;
  if (cause !== complaint) [complaint, since] = [cause, now];
  if (!cause) explain("");
  else if (cause !== "ok" && now - since >= helpAfter) explain(cause);
}

/**
 * Says what is wrong, with a picture of what to do, and offers other ways. It
 * takes no focus: the person is moving before the camera.
 * @param {string} cause empty: no more
 */
export function explain(cause) {
  if (cause === explained) return;
  explained = cause;
  ways.hidden = !cause;
  if (!cause) {
    help.replaceChildren();
    return;
  }
  const picture = Object.assign(document.createElement("div"), { className: "picture" });
  picture.append(...icon(cause));
  const words = document.createElement("div");
  words.append(
    Object.assign(document.createElement("h2"), { textContent: text(`help.${cause}.title`) }),
    Object.assign(document.createElement("p"), { textContent: text(`help.${cause}.body`) }),
  );
  help.replaceChildren(picture, words);
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
