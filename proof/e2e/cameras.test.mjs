// One honest check each with cameras and networks that are not the usual ones,
// and in Firefox. Times are printed; proof/e2e/marks.mjs holds them.
import assert from "node:assert/strict";
import { visitor } from "./lib/browser.mjs";
import { perform } from "./lib/camera.mjs";
import { launchFirefox } from "./lib/firefox.mjs";
import { test } from "./lib/row.mjs";
import { browser, gateway, tenant } from "./lib/shared.mjs";
import { openCamera, passes, toPrimer } from "./lib/walk.mjs";

const cameras = {
  "5 pictures a second": { rate: 5 },
  "480×640, upright": { size: [480, 640] },
  "1920×1080": { size: [1920, 1080] },
};

for (const [name, camera] of Object.entries(cameras)) {
  test(`a camera with ${name}`, async (t) => {
    const session = await gateway.session(tenant, { age: 13 });
    const page = await visitor(browser);
    await perform(page, camera);
    const start = performance.now();
    await toPrimer(page, session.url);
    await openCamera(page);
    await passes(page);
    t.diagnostic(`${((performance.now() - start) / 1000).toFixed(1)} s from opening the page to the result`);
    assert.equal(await session.status(), "PASSED");
    page.kept();
  });
}

test("Firefox, the camera replaced by a canvas stream", async (t) => {
  const session = await gateway.session(tenant, { age: 13 });
  const firefox = await launchFirefox();
  try {
    await perform(firefox);
    const start = performance.now();
    await firefox.goto(session.url);
    await firefox.click("start");
    await firefox.click("open-camera");
    // Like a shopper, begins another attempt where the page offers one.
    const again = `document.querySelector('[data-testid="again"]')?.offsetParent`;
    for (let attempts = 5; attempts > 0; attempts--) {
      await firefox.until(`location.search.includes("status=VERIFIED") || ${again}`);
      if (!(await firefox.evaluate(`Boolean(${again})`))) break;
      await firefox.click("open-camera");
      await firefox.until(`!${again}`);
    }
    t.diagnostic(`Firefox ${firefox.version}: ${((performance.now() - start) / 1000).toFixed(1)} s from opening the page to the result`);
    assert.equal(await session.status(), "PASSED");
    assert.deepEqual(firefox.breaches, []);
  } finally {
    await firefox.close();
  }
});
