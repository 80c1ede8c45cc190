// What the page shows of every state a session can be in, and the choices it
// leaves to the shopper.
import assert from "node:assert/strict";
import { visitor } from "./lib/browser.mjs";
import { perform } from "./lib/camera.mjs";
import { eventually, startGateway } from "./lib/gateway.mjs";
import { releasing, test } from "./lib/row.mjs";
import { browser, gateway, tenant } from "./lib/shared.mjs";
import { ends, leads, part, passes, sees, toCamera, toPrimer } from "./lib/walk.mjs";

/** Opens an address and returns its page and HTTP status. */
async function opens(url, options) {
  const page = await visitor(browser, { broken: /status of \d+/, ...options });
  const response = await page.goto(url);
  return { page, status: response.status() };
}

test("unknown link", async () => {
  const { page, status } = await opens(`${gateway.url}/v/${"x".repeat(43)}`);
  assert.equal(status, 404);
  await sees(page, "notice-unknown");
  page.kept();
});

test("already completed, for another browser and for the one that completed it", async () => {
  const session = await gateway.session(tenant);
  const own = await visitor(browser);
  await own.goto(session.url);
  await part(own, "force-verified").click();
  await own.waitForURL(`${gateway.shop}/?passed**`);
  await own.goto(session.url);
  await own.waitForURL(`${gateway.shop}/?passed**`);
  const { page, status } = await opens(session.url);
  assert.equal(status, 200);
  await sees(page, "notice-completed");
  await sees(page, "return");
  page.kept();
});

test("a forced fallback opens the document check, and going back does not force it again", async () => {
  const session = await gateway.session(gateway.tenant("--document-check"));
  const { page } = await opens(`${session.url}?force=fallback&lang=de`);
  await leads(page, part(page, "way-wallet"));
  await page.goBack();
  await sees(page, "screen-document");
  assert.equal(await page.evaluate(() => location.search), "?lang=de");
  assert.equal(await session.status(), "PENDING");
  page.kept();
});

test("expired", async () => {
  const hasty = await startGateway({ AGEGATE_SESSION_TTL: "4s", AGEGATE_ESTIMATOR: "off" });
  try {
    const session = await hasty.session(hasty.tenant());
    const waiting = await opens(session.url);
    assert.equal(waiting.status, 200);
    await sees(waiting.page, "notice-expired"); // by itself
    await eventually("the session expired", async () => (await session.status()) === "EXPIRED");
    const { page, status } = await opens(session.url);
    assert.equal(status, 410);
    await sees(page, "notice-expired");
    await sees(page, "return");
    page.kept();
  } finally {
    await hasty.stop();
  }
});

test("estimator off: live sessions show it, test sessions can be forced", async () => {
  const blind = await startGateway({ AGEGATE_ESTIMATOR: "off" });
  try {
    const shop = blind.tenant();
    const live = await opens((await blind.session(shop, { live: true })).url);
    assert.equal(live.status, 503);
    await sees(live.page, "notice-not_available");
    assert.equal(await part(live.page, "retry").count(), 0); // waiting helps nobody
    await sees(live.page, "return");
    const trial = await opens((await blind.session(shop)).url);
    await sees(trial.page, "camera-off");
    await part(trial.page, "force-fallback").click();
    await sees(trial.page, "screen-fallback");
    live.page.kept();
    trial.page.kept();
  } finally {
    await blind.stop();
  }
});

test("a live session shows no test banner, and nothing can be forced on it", async () => {
  const session = await gateway.session(tenant, { live: true });
  const { page } = await opens(session.url);
  await sees(page, "screen-intro");
  assert.equal(await part(page, "test-banner").count(), 0);
  const response = await page.goto(`${session.url}?force=verified`);
  assert.equal(response.status(), 400);
  await sees(page, "notice-force_live");
  assert.equal(await session.status(), "PENDING");
  page.kept();
});

test("an unknown outcome is refused", async () => {
  const { page, status } = await opens(`${(await gateway.session(tenant)).url}?force=maybe`);
  assert.equal(status, 400);
  await sees(page, "notice-force_unknown");
  await part(page, "check").click();
  await sees(page, "screen-intro");
  page.kept();
});

// access.test.mjs ticks the box by keyboard.
for (const [share, availability] of [[true, "available"], [false, "not_consented"]]) {
  (share ? releasing : test)(`sharing the estimate ${share ? "ticked" : "left unticked"}: ${availability}`, async () => {
    const session = await gateway.session(gateway.tenant("--age-visibility"), { age: 13 });
    const page = await visitor(browser);
    await perform(page);
    await page.goto(session.url);
    await part(page, "start").click();
    assert.equal(await part(page, "share").isChecked(), false);
    await toCamera(page, session.url, { share, begun: true });
    await passes(page);
    const answer = await session.detectedAge();
    assert.equal(answer.availability, availability);
    if (share) assert.ok(answer.detected_age >= 16, `an estimate of ${answer.detected_age} passed the cutoff of 16`);
    else assert.equal(answer.detected_age, null);
    page.kept();
  });
}

test("document offer: declined it ends in fallback, with a way chosen it stays open", async () => {
  const shop = gateway.tenant("--document-check");
  const session = await gateway.session(shop, { age: 60 });
  const page = await visitor(browser);
  await page.goto(session.url);
  await part(page, "force-document").click();
  await sees(page, "screen-document");
  assert.equal(await session.status(), "PENDING");
  await part(page, "way-wallet").click();
  await sees(page, "screen-wallet");
  assert.equal(await session.status(), "PENDING");
  await part(page, "other-way").click();
  await ends(page);
  await sees(page, "screen-fallback");
  assert.equal(await session.status(), "FALLBACK");
  page.kept();
});

test("without JavaScript the page says what is missing and offers no camera, only to leave", async () => {
  const page = await visitor(browser, { javaScriptEnabled: false });
  const session = await gateway.session(tenant);
  await page.goto(session.url);
  await sees(page, "no-script");
  await sees(page, "leave");
  assert.equal(await part(page, "start").count(), 0);
  await page.request.post(`${session.url}/start`); // as before it was turned off
  await page.goto(session.url);
  await sees(page, "no-script");
  await sees(page, "leave");
  page.kept();
});

test("without JavaScript, a wallet takes the camera's place", async () => {
  const page = await visitor(browser, { javaScriptEnabled: false });
  const session = await gateway.session(gateway.tenant("--document-check"));
  await page.goto(session.url);
  await sees(page, "no-script");
  assert.equal(await part(page, "start").count(), 0);
  const ground = (id) => part(page, id).evaluate((button) => getComputedStyle(button).backgroundColor);
  const filled = await ground("prefer-document");
  assert.notEqual(filled, await ground("leave"));
  await page.request.post(`${session.url}/start`);
  await page.goto(session.url);
  await leads(page, part(page, "without-camera"));
  await leads(page, part(page, "way-wallet"));
  await sees(page, "screen-wallet");
  page.kept();
});

test("a tick stays when the language changes, with and without JavaScript", async () => {
  for (const javaScriptEnabled of [true, false]) {
    const page = await visitor(browser, { javaScriptEnabled });
    const { url } = await gateway.session(gateway.tenant("--age-visibility"));
    await page.request.post(`${url}/start`);
    await page.goto(url);
    await part(page, "share").check();
    for (const language of ["de", "ar"]) {
      await part(page, "languages").click();
      await leads(page, page.locator(`.languages button[lang=${language}]`));
      assert.equal(await page.locator("html").getAttribute("lang"), language);
      assert.ok(await part(page, "share").isChecked(), `${language}: the tick is gone`);
    }
    await leads(page, part(page, "continue"));
    await sees(page, javaScriptEnabled ? "screen-primer" : "no-script");
    page.kept();
  }
});

test("Back from the fallback page leads to the result again, not to a second try", async () => {
  const session = await gateway.session(tenant, { age: 60 });
  const page = await visitor(browser);
  await toPrimer(page, session.url);
  await part(page, "force-fallback").click();
  await sees(page, "screen-fallback");
  await page.goBack();
  await page.reload();
  await sees(page, "screen-fallback");
  assert.equal(await session.status(), "FALLBACK");
  page.kept();
});
