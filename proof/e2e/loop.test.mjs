// The product's main job, through a real browser: a shop sends its shopper to
// the gateway and learns the result by redirect, webhook and lookup.
import assert from "node:assert/strict";
import { launch, visitor } from "./lib/browser.mjs";
import { perform } from "./lib/camera.mjs";
import { eventually, startGateway } from "./lib/gateway.mjs";
import { after, before, test } from "./lib/row.mjs";
import { ends, gets, hears, openCamera, part, passes, sees } from "./lib/walk.mjs";

let gateway, browser;
before(async () => {
  gateway = await startGateway();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
});

/** Buys in the sample shop and stands before the camera. */
async function buy(page, age) {
  await page.goto(gateway.shop);
  await page.selectOption("#age", String(age));
  await page.click("button");
  await part(page, "start").click();
  await openCamera(page);
}

/** The story of the order that the shop shows, once it holds all of what. */
async function story(page, ...what) {
  return eventually(`the shop tells of ${what}`, async () => {
    const text = await page.locator(".story").innerText().catch(() => "");
    return what.every((w) => text.includes(w)) && text;
  });
}

test("an honest adult face passes at 13 and sees that it did; redirect, webhook and lookup agree", async () => {
  const page = await visitor(browser);
  const visited = [];
  page.on("framenavigated", (frame) => visited.push({ url: frame.url(), at: performance.now() }));
  await perform(page);
  const messages = hears(page);
  await buy(page, 13);
  await passes(page);
  const pass = visited.findLastIndex(({ url }) => url.endsWith("/camera"));
  assert.ok(visited[pass + 1].at - visited[pass].at > 300, "the pass was gone in a moment");
  await story(page, "a redirect token that verifies: VERIFIED", "a signed webhook arrived: VERIFIED", "status lookup says PASSED");
  assert.match(await page.locator("h1").innerText(), /Sold/);
  // No message carries a verdict, an age or a score.
  const known = ["nonce", "seq", "guidance", "phase", "prompt", "hint", "done", "total", "progress", "remaining", "more", "full", "credit", "next"];
  assert.deepEqual([...new Set(messages.flatMap(Object.keys))].filter((key) => !known.includes(key)), []);
  assert.ok(messages.some((m) => m.prompt), "prompts were shown");
  page.kept();
});

test("the same face at 60 ends on the fallback page, whose way back is the cancel URL", async () => {
  const page = await visitor(browser);
  await perform(page);
  await buy(page, 60);
  await gets(page, () => sees(page, "screen-document"));
  await ends(page);
  await sees(page, "screen-fallback");
  assert.equal(await part(page, "return").getAttribute("href"), `${gateway.shop}/cancelled`);
  await part(page, "return").click();
  await page.waitForURL(`${gateway.shop}/**`);
  assert.doesNotMatch(await page.locator("h1").innerText(), /Sold\./);
  page.kept();
});

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? "with" : "without";
  for (const [outcome, screen] of [["verified", null], ["fallback", "screen-fallback"], ["spoof", "screen-spoof"]]) {
    test(`the TEST banner forces ${outcome}, ${how} JavaScript`, async () => {
      const page = await visitor(browser, { javaScriptEnabled });
      await page.goto(gateway.shop);
      await page.click("button");
      await sees(page, "test-banner");
      await part(page, `force-${outcome}`).click();
      if (screen) {
        await sees(page, screen);
        assert.equal(await part(page, "return").getAttribute("href"), `${gateway.shop}/cancelled`);
      } else {
        await page.waitForURL(`${gateway.shop}/orders/**`);
        await story(page, "VERIFIED");
      }
      page.kept();
    });
  }
}
