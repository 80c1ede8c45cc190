// The choice at the start, where the shop's document check is on: the camera or
// a document.
import assert from "node:assert/strict";
import { visitor } from "./lib/browser.mjs";
import { passport, perform } from "./lib/camera.mjs";
import { test } from "./lib/row.mjs";
import { browser, gateway, tenant } from "./lib/shared.mjs";
import { agreesToPhotograph, asksWallet, ends, fitsWidth, leads, openCamera, part, passes, sees, shares, toCamera } from "./lib/walk.mjs";

/** A visitor before the introduction of a shop with the document check on. */
async function arrives({ flags = [], actor, ...options } = {}) {
  const session = await gateway.session(gateway.tenant("--document-check", ...flags));
  const page = await visitor(browser, options);
  if (actor) await perform(page, actor);
  await page.goto(session.url);
  await sees(page, "screen-intro");
  return { session, page };
}

test("a passport instead of the camera check: its holder passes", async () => {
  const { session, page } = await arrives({ actor: { passport: passport(), size: [960, 720], devices: ["Back", "Front"], rate: 8 } });
  await leads(page, part(page, "prefer-document"));
  await sees(page, "screen-document");
  await agreesToPhotograph(page);
  await openCamera(page);
  await passes(page);
  assert.equal(await session.status(), "PASSED");
  page.kept();
});

test("a wallet, on a computer without a camera", async () => {
  const { session, page } = await arrives({ camera: false });
  await leads(page, part(page, "prefer-document"));
  await asksWallet(page);
  await shares(page);
  await passes(page);
  assert.equal(await session.status(), "PASSED");
  page.kept();
});

test("by keyboard: the camera comes first, then the document, which says what it means", async () => {
  const { session, page } = await arrives({ viewport: { width: 360, height: 740 } });
  await part(page, "start").focus();
  await page.keyboard.press("Tab");
  const choice = part(page, "prefer-document");
  assert.ok(await choice.evaluate((button) => button === document.activeElement));
  const means = await choice.evaluate((button) => document.getElementById(button.getAttribute("aria-describedby")).textContent);
  assert.match(means, /wallet.*passport.*cannot go back/);
  await page.keyboard.press("Enter");
  await sees(page, "screen-document");
  assert.match(await page.title(), /with a document/);
  await page.goBack(); // to the introduction, whose choice has been made
  await page.goto(session.url);
  await sees(page, "screen-document");
  await ends(page);
  await sees(page, "screen-fallback");
  assert.match(await part(page, "why").textContent(), /without showing a document/);
  assert.doesNotMatch(await page.locator("main").textContent(), /window or a lamp/);
  assert.equal(await session.status(), "FALLBACK");
  page.kept();
});

test("a document's ways are equal rows with what they take and tell the shop, and a refusal weighs less and says that it ends the check", async () => {
  const { page } = await arrives({ viewport: { width: 320, height: 568 } });
  await leads(page, part(page, "prefer-document"));
  const rows = page.locator(".rows :is(button[value], summary)");
  assert.deepEqual(await rows.evaluateAll((all) => all.map((row) => row.value)), ["wallet", "photo", undefined, "decline"]);
  const looks = await rows.evaluateAll((all) => all.slice(0, 2).map((row) => {
    const { color, backgroundColor, borderColor, borderWidth } = getComputedStyle(row);
    return [row.className, color, backgroundColor, borderColor, borderWidth].join();
  }));
  assert.equal(looks[0], looks[1], "no way stands out");
  for (const way of ["wallet", "photo"]) assert.match(await part(page, `way-${way}`).textContent(), /The EU’s age verification app, a European|It needs rows of <<</);
  assert.match(await part(page, "answer").textContent(), /learns whether and how the check was passed, or why not; never a picture/);
  assert.deepEqual(await rows.evaluateAll((all) => all.map((row) => row.querySelectorAll("svg").length)), [2, 2, 1, 0], "icons, and a chevron at each way");
  assert.equal(await part(page, "decline-sure").isVisible(), false, "ending the check asks once more");
  assert.match(await part(page, "stays").textContent(), /leaves the check open/);
  for (const size of [{ width: 320, height: 568 }, { width: 360, height: 740 }, { width: 1440, height: 900 }]) {
    await page.setViewportSize(size);
    const starts = await page.locator(".rows :is(b, small)").evaluateAll((all) => all.map((text) => text.getBoundingClientRect().left));
    assert.equal(new Set(starts).size, 1, `${size.width}: the texts begin at ${starts}`);
  }
  const refusal = await part(page, "decline").evaluate((row) => ({ edge: getComputedStyle(row).borderTopColor, weight: getComputedStyle(row.querySelector("b")).fontWeight, height: row.clientHeight }));
  assert.equal(refusal.edge, "rgba(0, 0, 0, 0)", "a refusal has no frame like a way's");
  assert.ok(Number(refusal.weight) < 600 && refusal.height >= 44, JSON.stringify(refusal));
  await part(page, "decline").click();
  assert.match(await page.locator(".decline .detail").innerText(), /Your age is then not confirmed/, "said before the button that ends the check");
  await fitsWidth(page);
  page.kept();
});

test("the camera chosen, and it does not work: the way on says that a document follows", async () => {
  const { session, page } = await arrives({ actor: { refusal: "NotFoundError" }, viewport: { width: 320, height: 640 } });
  await leads(page, part(page, "start"));
  await toCamera(page, session.url, { begun: true });
  await sees(page, "screen-missing");
  assert.match(await part(page, "without-camera").innerText(), /a document instead/);
  await fitsWidth(page);
  await leads(page, part(page, "without-camera"));
  await sees(page, "screen-document");
  assert.equal(await session.status(), "PENDING");
  page.kept();
});

test("no choice where the shop asks for no document", async () => {
  const page = await visitor(browser);
  await page.goto((await gateway.session(tenant)).url);
  await part(page, "start").waitFor();
  assert.equal(await part(page, "prefer-document").count(), 0);
  page.kept();
});
