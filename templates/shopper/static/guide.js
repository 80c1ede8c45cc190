// What the camera screen asks the shopper to do: text, icon, cue, progress,
// speech and signals.
import { announcer } from "./announce.js";
import { element, keyed } from "./dom.js";
import { signal } from "./signal.js";

/** @typedef {import("./stream.js").Guidance} Guidance */

const stage = element("stage", HTMLElement);
const cue = element("cue", HTMLElement);
const sentence = element("guidance-text", HTMLElement);
const note = element("guidance-hint", HTMLElement);
const sign = element("guidance-icon", HTMLElement);
const count = element("step", HTMLElement);
const spoken = element("spoken", HTMLElement);
const ring = element("progress", SVGPathElement);
const texts = keyed(element("texts", HTMLTemplateElement).content);
const icons = keyed(element("icons", HTMLTemplateElement).content);

/**
 * Where in the preview the cue of a prompt is placed.
 * @type {Record<string, string>}
 */
const sides = {
  "prompt.turn_left": "left", "prompt.turn_right": "right", "prompt.look_up": "top", "prompt.look_down": "bottom",
  "prompt.up_left": "top left", "prompt.up_right": "top right",
};

const help = element("help", HTMLElement);
const ways = element("ways", HTMLElement);

/** What the screen says before the first answer. */
const opening = sentence.textContent;

/** Milliseconds of one complaint after which the page explains it and offers other ways. */
const helpAfter = 10_000;
/** The same for somebody who cannot move the head: the check may take so long as it should. */
const sittingAfter = 15_000;
/** They sit through the whole challenge, in which the check waits for a blink. */
const sitting = ways.hasAttribute("data-sitting");
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
let lastStep = "";
let lastDone = 0;
let lastAsked = -1;

// A new element each time: a region that is set to the same text says nothing.
const voice = announcer((text, ends) => {
  spoken.setAttribute("aria-live", ends ? "assertive" : "polite");
  spoken.replaceChildren(Object.assign(document.createElement("span"), { textContent: text }));
});

/** Says something besides the prompts, when there is time for it. */
export const remark = voice.remark;

/**
 * Returns a text of the page.
 * @param {string} key
 */
export const text = (key) => texts.get(key)?.textContent ?? "";

/**
 * Shows and says what to do: a prompt at once, anything else when two answers
 * in a row agree, so that texts do not flicker.
 * @param {Guidance} answer
 */
export function guide({ guidance, phase, prompt, hint, done, total, progress: part }) {
  const good = guidance === "ok";
  const key = good && prompt ? `prompt.${prompt}` : guidance;
  const moving = Boolean(prompt) && prompt !== "hold_still";
  // The last step is to look into the camera again.
  const counted = !sitting && total > 0 && (moving || (prompt === "hold_still" && done === total));
  const step = counted ? text("step").replace("%n", String(done + 1)).replace("%total", String(total + 1)) : "";
  stage.classList.toggle("good", good);
  note.textContent = good && hint ? text(`hint.${hint}`) : "";
  progress(sitting ? done / 2 : moving ? done + (part || 0) : done, total);
  signals(moving, `${prompt} ${hint} ${done}`, hint, done, total);
  complain(phase === "framing" ? guidance : phase === "challenge" && sitting ? "sitting" : "");
  const asks = key.startsWith("prompt.");
  const shown = `${key} ${note.textContent} ${step}`;
  const settled = key === lastSeen || lastShown === "" || asks || step !== count.textContent;
  count.textContent = step;
  lastSeen = key;
  if (!settled || shown === lastShown) return;
  lastShown = shown;
  sentence.textContent = text(key) || text("hold_still");
  sign.replaceChildren(...(sides[key] ? [] : icon(key)));
  cue.dataset.side = sides[key] ?? "";
  cue.replaceChildren(...(sides[key] ? icon(key) : []));
  stage.dataset.lift = /document\.raise_(\w+)/.exec(key)?.[1] ?? "";
  if (!asks) return voice.remark(sentence.textContent);
  voice.prompt([note, sentence, count].map((e) => e.textContent).filter(Boolean).join(". "), done !== lastAsked);
  lastAsked = done;
}

/**
 * Gives the signals of the challenge: a prompt, a wrong direction, the end.
 * @param {boolean} moving a movement is asked for
 * @param {string} step what is asked for
 * @param {string} hint
 * @param {number} done
 * @param {number} total
 */
function signals(moving, step, hint, done, total) {
  if (moving && step !== lastStep) signal(hint === "other_way" ? "wrong" : "prompt");
  else if (!moving && done > lastDone && done === total && lastStep) signal("done");
  lastStep = moving ? step : "";
  lastDone = done;
}

/**
 * Forgets what was told, because another attempt begins: whoever still followed
 * the last prompt would begin it tilted.
 * @param {string | null} first what the screen says until the next answer
 */
export function begin(first = opening) {
  [complaint, lastSeen, lastShown, lastStep, lastDone, lastAsked] = ["", "", "", "", 0, -1];
  voice.clear();
  spoken.replaceChildren();
  count.textContent = note.textContent = "";
  sentence.textContent = first;
  sign.replaceChildren();
  cue.dataset.side = stage.dataset.lift = "";
  cue.replaceChildren();
  stage.classList.remove("good");
  progress(0, 1);
  explain("");
}

/**
 * Explains a complaint that lasts. The explanation stays until the next one or
 * until the challenge begins, so that nothing moves while the person tries.
 * @param {string} guidance while framing; "sitting" while a blink is waited for; otherwise ""
 */
function complain(guidance) {
  const now = performance.now();
  const cause = causes[guidance] ?? guidance;
  if (cause !== complaint) [complaint, since] = [cause, now];
  if (!cause) explain("");
  else if (cause !== "ok" && now - since >= (cause === "sitting" ? sittingAfter : helpAfter)) explain(cause);
}

/**
 * Says what is wrong, with a picture of what to do, and offers other ways. It
 * takes no focus: the person is moving before the camera.
 * @param {string} cause empty: no more
 */
function explain(cause) {
  if (cause === explained) return;
  explained = cause;
  ways.hidden = !cause;
  if (!cause) return help.replaceChildren();
  const [title, body] = [text(`help.${cause}.title`), text(`help.${cause}.body`)];
  const picture = Object.assign(document.createElement("div"), { className: "picture" });
  picture.append(...icon(cause));
  const words = document.createElement("div");
  words.append(
    Object.assign(document.createElement("h2"), { textContent: title }),
    Object.assign(document.createElement("p"), { textContent: body }),
  );
  help.replaceChildren(picture, words);
  voice.remark(`${title}. ${body}`);
}

for (const key of ["too_dark", "too_far", "covered"]) {
  element("tips", HTMLElement).append(Object.assign(document.createElement("li"), { textContent: text(`help.${key}.body`) }));
}

/**
 * Shows how far the check is.
 * @param {number} done
 * @param {number} total
 */
function progress(done, total) {
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
