// Time and senses: more time for a prompt, speech that can be followed,
// vibration and tones.
import assert from "node:assert/strict";
import { visitor } from "./lib/browser.mjs";
import { direct, perform } from "./lib/camera.mjs";
import { eventually } from "./lib/gateway.mjs";
import { test } from "./lib/row.mjs";
import { browser, gateway, tenant } from "./lib/shared.mjs";
import { hears, isTold, part, passes, toCamera } from "./lib/walk.mjs";

const directions = ["turn_left", "up_left", "look_up", "up_right", "turn_right", "look_down"];

/** A visitor before a server that answers with what next() returns; next is given each text message. */
async function scripted(next) {
  const page = await visitor(browser);
  await perform(page);
  await page.routeWebSocket(/\/stream/, (socket) => {
    let seq = 0;
    socket.send(JSON.stringify({ nonce: "00".repeat(16) }));
    socket.onMessage((message) => {
      const answer = next(typeof message === "string" ? message : "");
      if (typeof message !== "string") socket.send(JSON.stringify({ seq: seq++, ...answer }));
    });
  });
  // What reaches ears, fingers and screen readers.
  await page.addInitScript(() => {
    window.felt = [];
    window.heard = 0;
    window.spoken = [];
    navigator.vibrate = (pattern) => felt.push([pattern].flat());
    const start = OscillatorNode.prototype.start;
    OscillatorNode.prototype.start = function (...when) {
      heard++;
      return start.apply(this, when);
    };
    addEventListener("DOMContentLoaded", () => {
      const region = document.getElementById("spoken");
      if (!region) return;
      new MutationObserver(() => region.textContent && spoken.push([performance.now(), region.textContent]))
        .observe(region, { childList: true });
    });
  });
  await toCamera(page, (await gateway.session(tenant)).url);
  return page;
}

const challenge = { guidance: "ok", phase: "challenge", prompt: "turn_left", hint: "", done: 0, total: 4, progress: 0, remaining: 20_000, more: true };

test("who stands still gets more time by the Enter key, and then passes", async () => {
  const session = await gateway.session(tenant, { age: 13 });
  const page = await visitor(browser);
  const messages = hears(page);
  await perform(page, { reply: Object.fromEntries(directions.map((d) => [d, "level"])) });
  await toCamera(page, session.url);
  await part(page, "more-time").waitFor();
  const before = messages.at(-1);
  assert.ok(before.more && before.remaining > 0, JSON.stringify(before));
  await page.keyboard.press("Enter");
  await eventually("the server grants it", () => messages.at(-1).remaining > before.remaining + 10_000);
  await direct(page, { reply: {} });
  await passes(page);
  assert.equal(await session.status(), "PASSED");
  page.kept();
});

test("the offer of more time stands out and is spoken when time runs low, and is gone when there is no more", async () => {
  const answer = { ...challenge, remaining: 14_000 };
  const asked = [];
  const page = await scripted((message) => {
    if (message) {
      asked.push(message);
      Object.assign(answer, { remaining: 29_000, more: false });
    }
    return answer;
  });
  const button = part(page, "more-time");
  await button.waitFor();
  assert.doesNotMatch(await button.getAttribute("class"), /primary/);
  answer.remaining = 9000;
  await page.waitForFunction(() => /primary/.test(document.getElementById("more-time").className));
  await page.waitForFunction(() => spoken.some(([, text]) => /Little time/.test(text)));
  await button.click();
  await page.locator("#more-time").waitFor({ state: "hidden" });
  await page.waitForFunction(() => spoken.some(([, text]) => /more time now/.test(text)));
  await page.keyboard.press("Enter"); // nothing is offered
  assert.deepEqual(asked, ["more_time"]);
  page.kept();
});

test("a screen reader hears prompts with their number, three seconds apart unless a step is done, however fast the answers change", async () => {
  let n = 0;
  const page = await scripted(() => {
    n++;
    if (n < 10) return { ...challenge, phase: "framing", prompt: "", remaining: 0, more: false, guidance: ["too_far", "too_far", "too_dark", "too_dark"][n % 4] };
    const done = Math.min(3, Math.floor((n - 10) / 12));
    return { ...challenge, done, prompt: directions[(n >> 1) % 6], hint: n % 4 ? "" : "other_way" };
  });
  await page.waitForFunction(() => spoken.filter(([, text]) => / of 5$/.test(text)).length >= 3);
  const told = await page.evaluate(() => spoken);
  const step = (i) => /\d of 5$/.exec(told[i][1])?.[0];
  for (let i = 1; i < told.length; i++) assert.ok(told[i][0] - told[i - 1][0] > 2900 || step(i) !== step(i - 1), JSON.stringify(told));
  assert.ok(told.length >= 3 && !told.some(([, text]) => text.includes("%")), JSON.stringify(told));
  assert.match(await part(page, "step").textContent(), /^[1-4] of 5$/);
  page.kept();
});

test("each prompt and the end are felt and heard, until the tones are switched off", async () => {
  const answer = { ...challenge };
  const page = await scripted(() => answer);
  await isTold(page, "prompt.turn_left");
  assert.deepEqual(await page.evaluate(() => [felt.length, heard]), [1, 1]);
  assert.equal(await part(page, "sound").getAttribute("aria-pressed"), "true");
  Object.assign(answer, { done: 1, prompt: "look_up" });
  await page.waitForFunction(() => felt.length === 2 && heard === 2);
  Object.assign(answer, { prompt: "turn_right", hint: "other_way" });
  await page.waitForFunction(() => felt.length === 3 && heard === 4);
  Object.assign(answer, { done: 4, prompt: "hold_still", hint: "" });
  await page.waitForFunction(() => document.getElementById("spoken").getAttribute("aria-live") === "assertive" && /5 of 5$/.test(document.getElementById("spoken").textContent));
  await page.waitForFunction(() => felt.length === 4 && heard === 6);
  await part(page, "sound").click();
  Object.assign(answer, { ...challenge });
  await page.waitForFunction(() => felt.length === 5);
  assert.equal(await page.evaluate(() => heard), 6);
  assert.equal(await part(page, "sound").getAttribute("aria-pressed"), "false");
  await part(page, "sound").click();
  assert.equal(await page.evaluate(() => heard), 7, "the switch lets the tone be heard");
  page.kept();
});

test("pictures that only guide have fewer pixels and coarser ones than those that may decide", async () => {
  const page = await visitor(browser);
  await perform(page);
  const pictures = []; // [width, coarseness] of each
  await page.routeWebSocket(/\/stream/, (socket) => {
    socket.send(JSON.stringify({ nonce: "00".repeat(16) }));
    socket.onMessage((message) => {
      if (typeof message === "string") return;
      const [frame, table] = [0xc0, 0xdb].map((marker) => message.indexOf(Buffer.from([0xff, marker]), 20));
      const seq = pictures.push([message.readUInt16BE(frame + 7), message[table + 5]]) - 1;
      socket.send(JSON.stringify({ seq, ...challenge, full: seq === 1, credit: 1 }));
    });
  });
  await toCamera(page, (await gateway.session(tenant)).url);
  await eventually("four pictures were sent", () => pictures.length > 3);
  const [, before, decides, after] = pictures;
  assert.deepEqual(before, after);
  assert.ok(decides[0] > before[0] && decides[1] < before[1], JSON.stringify(pictures));
});
