// Fit for everybody: every screen checked by axe and at the narrowest width; by
// keyboard alone; with reduced motion; light to load.
import assert from "node:assert/strict";
import { isAccessible } from "./lib/axe.mjs";
import { launch, visitor } from "./lib/browser.mjs";
import { perform } from "./lib/camera.mjs";
import { eventually, startGateway } from "./lib/gateway.mjs";
import { after, before, limit, long, test } from "./lib/row.mjs";
import { tour } from "./lib/tour.mjs";
import { fitsWidth, openCamera, part, passes, sees, toPrimer } from "./lib/walk.mjs";

const phone = { width: 360, height: 740 };
const enlarged = { width: 320, height: 256 }; // a laptop's window at 400 %
const laptop = { width: 1280, height: 800 };

let gateway, browser, stops;
before(async () => {
  gateway = await startGateway();
  browser = await launch();
  stops = tour(gateway);
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
});

/** The screens before an open camera, which take longest to see. A release alone looks at them here (make test-long). */
const filming = /^live|^photo-(live|tilt|face|face-again)$/;

/** The screens for which a visitor's browser is changed, so that nobody else uses it. */
const altered = new RegExp(`${filming.source}|^wallet-mobile$`);

test("every screen", { timeout: 3 * limit }, async (t) => {
  const looks = [[phone, "light"], [laptop, "dark"]];
  const broken = /status of \d+/;
  // A new profile has a process of its own, in which axe takes ten times as long as in one that knows it.
  const [known, other] = [await visitor(browser, { broken }), await visitor(browser, { broken })];
  const looked = Object.entries(stops).filter(([name]) => long || !filming.test(name));
  for (const [i, [name, visit]] of looked.entries()) {
    await t.test(name, { timeout: limit }, async () => {
      const page = altered.test(name) ? await visitor(browser, { broken }) : known;
      if (!name.startsWith("camera-")) await forgets(known, other); // those are hidden screens of one page
      await visit(page, () => other);
      for (const [size, colorScheme] of long ? looks : [looks[i % 2]]) {
        await page.setViewportSize(size);
        await page.emulateMedia({ colorScheme });
        // The open list covers text of the page, whose colours axe measures in other rows.
        await isAccessible(page, undefined, undefined, name === "languages" ? ".languages" : undefined);
        await fitsWidth(page);
      }
      await page.setViewportSize(enlarged);
      await fitsWidth(page);
      page.kept();
    });
  }
});

/** Makes new visitors of pages: without cookies, and at home on a laptop. */
async function forgets(...pages) {
  for (const page of pages) {
    // Where no script asks about a session that nobody has any more. A page may just be leading elsewhere by itself.
    await eventually("the page is left", () => page.goto(`${gateway.url}/healthz`).then(() => true, () => false));
    await page.context().clearCookies();
    await page.setViewportSize(laptop);
  }
}

test("the whole check by keyboard alone", async () => {
  const session = await gateway.session(gateway.tenant("--age-visibility"), { age: 13 });
  const page = await visitor(browser);
  await perform(page);
  await page.goto(session.url);
  await press(page, "start");
  await sees(page, "screen-consent");
  await press(page, "share", "Space");
  assert.equal(await part(page, "share").isChecked(), true);
  await press(page, "continue");
  await sees(page, "screen-primer");
  await press(page, "open-camera");
  await passes(page);
  assert.equal((await session.detectedAge()).availability, "available");
  page.kept();
});

/** Moves to an element with the Tab key alone and presses a key on it. */
async function press(page, id, key = "Enter") {
  const focused = () => page.evaluate(() => document.activeElement?.dataset.testid);
  for (let tabs = 0; (await focused()) !== id; tabs++) {
    assert.ok(tabs < 30, `${id} is not reached by Tab`);
    await page.keyboard.press("Tab");
    if ((await focused()) !== id) continue;
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.notEqual(outline, "none", `the focus on ${id} shows`);
  }
  await page.keyboard.press(key);
}

test("screens that change by themselves move the focus to their heading", async () => {
  const page = await visitor(browser);
  await perform(page, { refusal: "NotFoundError" });
  await toPrimer(page, (await gateway.session(gateway.tenant())).url);
  await openCamera(page);
  await sees(page, "screen-missing");
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "H1");
  page.kept();
});

test("reduced motion is honoured", async () => {
  const page = await visitor(browser, { reducedMotion: "reduce" });
  await toPrimer(page, (await gateway.session(gateway.tenant())).url);
  const moving = await page.evaluate(() => {
    for (const e of document.querySelectorAll("[data-screen]")) e.hidden = false;
    return [...document.querySelectorAll("*")]
      .map((e) => getComputedStyle(e))
      .filter((s) => parseFloat(s.transitionDuration) > 0 || (s.animationName !== "none" && parseFloat(s.animationDuration) < 2))
      .length;
  });
  assert.equal(moving, 0);
  page.kept();
});

test("the page is under 60 KB compressed before the camera starts", async () => {
  const page = await visitor(browser);
  const client = await page.context().newCDPSession(page);
  await client.send("Network.enable");
  let bytes = 0;
  client.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
  const url = (await gateway.session(gateway.tenant("--age-visibility"))).url;
  await toPrimer(page, url, { share: true });
  await page.waitForLoadState("networkidle");
  assert.ok(bytes > 0 && bytes < 60_000, `${bytes} bytes with all screens up to the primer`);
  page.kept();
});
