// What the page says while it frames the face, and how it goes on from there.
import assert from "node:assert/strict";
import { visitor } from "./lib/browser.mjs";
import { direct, perform } from "./lib/camera.mjs";
import { test } from "./lib/row.mjs";
import { browser, gateway, tenant } from "./lib/shared.mjs";
import { answersAlways, isTold, part, sees, passes, toCamera } from "./lib/walk.mjs";

const clear = { places: null, filter: null, frozen: false };
const reasons = [
  { key: "no_face", of: "an empty room", scene: { places: [] } },
  { key: "several_faces", of: "two people", scene: { places: [[-80, 60, 480, 360], [240, 60, 480, 360]] } },
  { key: "too_far", of: "somebody far away", scene: { places: [[200, 150, 240, 180]] } },
  { key: "too_close", of: "somebody very near", scene: { places: [[-800, -640, 2240, 1680]] } },
  { key: "off_center", of: "a face at the edge", scene: { places: [[200, 0, 640, 480]] } },
  { key: "too_dark", of: "a dark room", scene: { filter: "brightness(0.12)" } },
  { key: "blurred", of: "a moved picture", scene: { filter: "blur(9px)", frozen: true } },
];

test("every fault of a picture is named, and a person who mends them passes", async (t) => {
  const session = await gateway.session(tenant, { age: 13 });
  const page = await visitor(browser);
  await perform(page, reasons[0].scene);
  await toCamera(page, session.url);
  for (const { key, of, scene } of reasons) {
    await t.test(`${of}: ${key}`, async () => {
      await direct(page, { ...clear, ...scene });
      await isTold(page, key);
    });
  }
  await sees(page, "screen-live");
  await direct(page, clear);
  await passes(page);
  assert.equal(await session.status(), "PASSED");
  page.kept();
});

test("a new step has its own words, even where its guidance changes with every picture", async () => {
  const session = await gateway.session(tenant, { age: 13 });
  const page = await visitor(browser);
  await perform(page);
  const step = { seq: 0, guidance: "ok", phase: "challenge", prompt: "look_down", hint: "", done: 3, total: 4, remaining: 9000, more: true };
  const back = { ...step, prompt: "hold_still", done: 4 };
  await page.routeWebSocket(/\/stream/, (socket) => {
    socket.send(JSON.stringify({ nonce: "00".repeat(16) }));
    let seen = -1;
    socket.onMessage(() => {
      const answer = ++seen < 4 ? step : { ...back, guidance: ["chin_lowered", "off_center"][seen % 2] };
      socket.send(JSON.stringify({ ...answer, seq: seen }));
    });
  });
  await toCamera(page, session.url);
  await isTold(page, "prompt.look_down");
  await part(page, "step").filter({ hasText: "5 of 5" }).waitFor();
  assert.doesNotMatch(await part(page, "guidance").textContent(), /Lower your chin/);
  page.kept();
});

test("the arrow has a shade of the shop's colour that stands out from the shade over a white wall", async () => {
  const shop = gateway.tenant();
  gateway.command("tenant", "set", shop.tenant_id, "--brand-colour", "#6b21a8");
  const session = await gateway.session(shop);
  const page = await visitor(browser);
  await perform(page);
  await answersAlways(page, { guidance: "ok", phase: "challenge", prompt: "turn_left", done: 1, total: 4, remaining: 9000, more: true });
  await toCamera(page, session.url);
  await isTold(page, "prompt.turn_left");
  const marks = await page.evaluate(() => {
    const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
    const seen = (...colours) => {
      for (const colour of colours) {
        pen.fillStyle = colour;
        pen.fillRect(0, 0, 1, 1);
      }
      return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const light = (rgb) => rgb.map((v) => (v / 255 > 0.04045 ? ((v / 255 + 0.055) / 1.055) ** 2.4 : v / 255 / 12.92))
      .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const shade = getComputedStyle(document.querySelector(".shade")).fill;
    return ["", ...Array.from({ length: 36 }, (_, i) => `hsl(${10 * i} 90% 30%)`), "#000", "#fff"].map((accent) => {
      document.documentElement.style.setProperty("--accent", accent);
      const mark = seen(getComputedStyle(document.querySelector("#cue")).backgroundColor);
      return { accent, mark, contrast: (light(mark) + 0.05) / (light(seen("#fff", shade)) + 0.05) };
    });
  });
  const [r, g, b] = marks[0].mark;
  assert.ok(b > r && r > g, `purple: ${marks[0].mark}`);
  for (const { accent, contrast } of marks) assert.ok(contrast >= 3, `${accent || "the shop's"}: ${contrast}`);
  page.kept();
});
