// What the page says while it frames the face, and how it goes on from there.
import assert from "node:assert/strict";
import { visitor } from "./lib/browser.mjs";
import { direct, perform } from "./lib/camera.mjs";
import { test } from "./lib/row.mjs";
import { browser, gateway, tenant } from "./lib/shared.mjs";
import { isTold, sees, passes, toCamera } from "./lib/walk.mjs";

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
