// What a screen reader is given to say, without a browser: on a clock of its
// own, with answers that change far faster than anybody can speak.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "./lib/row.mjs";

const source = readFileSync(new URL("../../templates/shopper/static/announce.js", import.meta.url), "utf8");
const { announcer } = await import(`data:text/javascript,${encodeURIComponent(source)}`);

/** A clock that jumps from one timer to the next, and what was said by it. */
function stage() {
  let now = 0;
  let timers = [];
  const said = [];
  const clock = {
    now: () => now,
    after(call, delay) {
      const timer = { call, at: now + delay };
      timers.push(timer);
      return timer;
    },
    cancel: (timer) => (timers = timers.filter((t) => t !== timer)),
  };
  /** Lets the time pass. */
  const pass = (ms) => {
    const end = now + ms;
    for (;;) {
      timers.sort((a, b) => a.at - b.at);
      if (!timers.length || timers[0].at > end) break;
      const { call, at } = timers.shift();
      now = at;
      call();
    }
    now = end;
  };
  return { voice: announcer((text) => said.push([now, text]), clock), said, pass };
}

test("the first sentence is said at once, later ones three seconds apart, the latest wins", () => {
  const { voice, said, pass } = stage();
  for (let i = 0; i < 60; i++) {
    voice.remark(`answer ${i}`);
    pass(150);
  }
  pass(10_000);
  assert.deepEqual(said, [[0, "answer 0"], [3000, "answer 19"], [6000, "answer 39"], [9000, "answer 59"]]);
});

test("a prompt goes before a remark and drops it; a remark after it waits for it", () => {
  const { voice, said, pass } = stage();
  voice.remark("closer");
  voice.remark("darker");
  voice.prompt("to your left");
  voice.remark("little time");
  pass(10_000);
  assert.deepEqual(said.map(([, text]) => text), ["closer", "to your left", "little time"]);
});

test("an outdated prompt is never said", () => {
  const { voice, said, pass } = stage();
  for (const text of ["left", "up", "right"]) voice.prompt(text);
  pass(10_000);
  assert.deepEqual(said, [[0, "left"], [3000, "right"]]);
});

test("each new prompt ends the sentence before it, however fast the head moves", () => {
  const { voice, said, pass } = stage();
  voice.remark("x".repeat(100));
  pass(500);
  for (const step of ["left. 1 of 5", "up. 2 of 5", "right. 3 of 5", "down. 4 of 5", "hold still. 5 of 5"]) {
    voice.prompt(step, true);
    pass(600);
  }
  voice.prompt("other way", false);
  pass(10_000);
  assert.deepEqual(said.slice(1).map(([at]) => at), [500, 1100, 1700, 2300, 2900, 5900]);
});

test("a long explanation is spoken to its end before another remark, but not before a prompt", () => {
  const long = "x".repeat(100);
  const first = stage();
  first.voice.remark(long);
  first.voice.remark("hold still");
  first.pass(20_000);
  assert.deepEqual(first.said, [[0, long], [6500, "hold still"]]);
  const second = stage();
  second.voice.remark(long);
  second.voice.prompt("left");
  second.pass(20_000);
  assert.deepEqual(second.said, [[0, long], [3000, "left"]]);
});

test("a remark is not said twice in a row, the same prompt is when it is given again", () => {
  const { voice, said, pass } = stage();
  for (const tell of [voice.remark, voice.remark, voice.prompt, voice.prompt]) {
    tell("chin up");
    pass(5000);
  }
  assert.deepEqual(said.map(([at]) => at), [0, 10_000, 15_000]);
});

test("nothing is said after clear()", () => {
  const { voice, said, pass } = stage();
  voice.remark("a");
  voice.remark("b");
  voice.clear();
  pass(10_000);
  assert.deepEqual(said, [[0, "a"]]);
});

test("whatever comes, two sentences are three seconds apart, and the last prompt is said", () => {
  let seed = 7;
  const random = (n) => (seed = (seed * 48_271) % 2_147_483_647) % n; // minimal standard generator
  for (let round = 0; round < 200; round++) {
    const { voice, said, pass } = stage();
    let prompt = "";
    for (let i = 0; i < 50; i++) {
      const text = `sentence ${random(10)}`;
      if (random(3)) voice.remark(text);
      else voice.prompt((prompt = `${text}, prompt ${i}`));
      pass(random(1500));
    }
    pass(20_000);
    for (let i = 1; i < said.length; i++) assert.ok(said[i][0] - said[i - 1][0] >= 3000, `${said[i - 1]} and ${said[i]}`);
    if (prompt) assert.ok(said.some(([, text]) => text === prompt), prompt);
  }
});
