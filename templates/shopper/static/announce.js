// What a screen reader says of the check: few sentences, far enough apart that
// each can be spoken before the next.

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
 * Returns an announcer that hands sentences to say(), never two within gap. Of
 * what has to wait only the latest is kept.
 *   prompt(text)  goes before any remark, drops a waiting one, and does not
 *                 wait for the last remark to be spoken to its end
 *   remark(text)  is not said twice in a row
 *   clear()       drops what waits
 * @param {(text: string) => void} say
 * @param {Clock} clock
 */
export function announcer(say, clock = system) {
  const waiting = { prompt: "", remark: "" };
  let last = "";
  let saidAt = -Infinity;
  /** @type {number | undefined} */
  let timer;

  function schedule() {
    if (timer !== undefined) clock.cancel(timer);
    timer = undefined;
    if (!waiting.prompt && !waiting.remark) return;
    const pause = waiting.prompt ? gap : Math.max(gap, perCharacter * last.length);
    const delay = saidAt + pause - clock.now();
    if (delay > 0) {
      timer = clock.after(schedule, delay);
      return;
    }
    last = waiting.prompt || waiting.remark;
    if (waiting.prompt) waiting.prompt = "";
    else waiting.remark = "";
    saidAt = clock.now();
    say(last);
    schedule();
  }

  return {
    /** @param {string} text */
    prompt(text) {
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
