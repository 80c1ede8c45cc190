// What a screen reader says of the check: few sentences, far enough apart that
// each can be spoken before the next. Only a new prompt ends the sentence before it.

/** Least time from one sentence to the next, in milliseconds. */
const gap = 3000;
/** Time to speak one character at a slow rate, in milliseconds. */
const perCharacter = 65;

/**
 * @typedef {object} Clock
 * @property {() => number} now in milliseconds
 * @property {(call: () => void, delay: number) => number} after calls once
 * @property {(timer: number) => void} cancel
 */

/** @type {Clock} */
const system = {
  now: () => performance.now(),
  after: (call, delay) => window.setTimeout(call, delay),
  cancel: (timer) => clearTimeout(timer),
};

/**
 * Returns an announcer that hands sentences to say(), with whether a sentence ends
 * the one before it. No others come within gap. Of what has to wait only the latest
 * is kept.
 *   prompt(text, fresh)  goes before any remark, drops a waiting one, and does not
 *                 wait for the last remark to be spoken to its end; a fresh one
 *                 waits for nothing
 *   remark(text)  is not said twice in a row
 *   clear()       drops what waits
 * @param {(text: string, ends: boolean) => void} say
 * @param {Clock} clock
 */
export function announcer(say, clock = system) {
  const waiting = { prompt: "", remark: "" };
  let last = "";
  let fresh = false; // the waiting prompt
  let saidAt = -Infinity;
  /** @type {number | undefined} */
  let timer;

  function schedule() {
    if (timer !== undefined) clock.cancel(timer);
    timer = undefined;
    if (!waiting.prompt && !waiting.remark) return;
    const ends = Boolean(waiting.prompt) && fresh;
    const pause = ends ? 0 : waiting.prompt ? gap : Math.max(gap, perCharacter * last.length);
    const delay = saidAt + pause - clock.now();
    if (delay > 0) {
      timer = clock.after(schedule, delay);
      return;
    }
    last = waiting.prompt || waiting.remark;
    if (waiting.prompt) waiting.prompt = "";
    else waiting.remark = "";
    saidAt = clock.now();
    say(last, ends);
    schedule();
  }

  return {
    /**
     * @param {string} text
     * @param {boolean} [isFresh]
     */
    prompt(text, isFresh = false) {
      fresh = isFresh;
      Object.assign(waiting, { prompt: text, remark: "" });
      schedule();
    },
    /** @param {string} text */
    remark(text) {
      waiting.remark = text === last && !waiting.prompt ? "" : text;
      schedule();
    },
    clear() {
      Object.assign(waiting, { prompt: "", remark: "" });
      schedule();
    },
  };
}
