// A session that expires while its camera runs.
import assert from "node:assert/strict";
import { launch, visitor } from "./lib/browser.mjs";
import { isFilming, perform } from "./lib/camera.mjs";
import { startGateway } from "./lib/gateway.mjs";
import { after, before, test } from "./lib/row.mjs";
import { sees, toCamera } from "./lib/walk.mjs";

let gateway, browser;
before(async () => {
  gateway = await startGateway({ AGEGATE_SESSION_TTL: "90s" });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
});

test("the session expires before the running camera: the page says so, and the camera is off", async () => {
  const check = await gateway.session(gateway.tenant(), { age: 13 });
  const page = await visitor(browser, { broken: /status of 410/ });
  await perform(page, { places: [] });
  await toCamera(page, check.url);
  await sees(page, "screen-live");
  assert.equal(await isFilming(page), true);
  await sees(page, "notice-expired");
  assert.equal(await isFilming(page), false);
  assert.equal(await check.status(), "EXPIRED");
  page.kept();
});
