// Checks that end without an estimate, and what the page offers to whom the
// camera does not let in.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { launch, visitor } from "./lib/browser.mjs";
import { isFilming, perform } from "./lib/camera.mjs";
import { eventually, startGateway } from "./lib/gateway.mjs";
import { after, before, test } from "./lib/row.mjs";
import { ends, hears, isTold, openCamera, part, sees, toCamera, toPrimer } from "./lib/walk.mjs";

let gateway, browser, receiver;
const events = [];
before(async () => {
  receiver = createServer((request, response) => {
    let body = "";
    request.on("data", (data) => (body += data));
    request.on("end", () => {
      events.push(JSON.parse(body));
      response.writeHead(204).end();
    });
  });
  await new Promise((listening) => receiver.listen(0, "localhost", listening));
  gateway = await startGateway();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
  receiver?.close();
});

/** A live session of a shop that receives webhooks and asks to see the estimate. */
const session = (...flags) =>
  gateway.session(gateway.tenant("--webhook-url", `http://localhost:${receiver.address().port}/`, ...flags), { age: 13, live: true });

/** Waits for the session's one event and checks what it says. */
async function isToldTheShop({ id }) {
  const event = await eventually("the webhook arrives", () => events.find((e) => e.session_id === id));
  assert.equal(event.status, "ROUTED_TO_FALLBACK");
  assert.equal(event.is_adult, false);
  assert.equal(events.filter((e) => e.session_id === id).length, 1);
}

/** Begins every attempt of a session and breaks each off by a reload. */
async function usesUp(page, url, options) {
  const heard = hears(page);
  await toPrimer(page, url, options);
  for (let attempt = 1; attempt <= 5; attempt++) {
    await openCamera(page);
    await eventually("the challenge begins", () => heard.some(({ phase }) => phase === "challenge"));
    await page.reload();
    heard.length = 0;
    if (attempt < 5) await sees(page, "again");
  }
}

test("the last attempt used up: the fallback page, and the shop is informed", async () => {
  const check = await session("--age-visibility");
  const page = await visitor(browser);
  await perform(page);
  await page.goto(check.url);
  await part(page, "start").click();
  await usesUp(page, check.url, { share: true, begun: true });
  await sees(page, "screen-fallback");
  await isToldTheShop(check);
  assert.equal(await check.status(), "FALLBACK");
  const answer = await check.detectedAge();
  assert.deepEqual([answer.availability, answer.detected_age], ["not_estimated", null]);
  page.kept();
});

test("the last attempt used up with the document check on: that is offered first", async () => {
  const check = await session("--document-check");
  const page = await visitor(browser);
  await perform(page);
  await usesUp(page, check.url);
  await sees(page, "screen-document");
  assert.equal(await check.status(), "PENDING");
  await ends(page);
  await sees(page, "screen-fallback");
  await isToldTheShop(check);
  page.kept();
});

test("no camera: the shopper goes on without it", async () => {
  const check = await session();
  const page = await visitor(browser);
  await perform(page, { refusal: "NotFoundError" });
  await toCamera(page, check.url);
  await sees(page, "screen-missing");
  assert.equal(await page.title(), await page.locator("h1:visible").innerText());
  await part(page, "without-camera").click();
  await sees(page, "screen-fallback");
  await isToldTheShop(check);
  page.kept();
});

test("one complaint for ten seconds: its cause, what to do and other ways, without taking the focus", async () => {
  const check = await session();
  const page = await visitor(browser);
  await perform(page, { places: [] });
  await toCamera(page, check.url);
  await isTold(page, "no_face");
  assert.equal(await part(page, "help").count(), 0);
  const focused = () => page.evaluate(() => document.activeElement?.textContent);
  const before = await focused();
  await part(page, "help").locator("h2").waitFor();
  assert.equal(await focused(), before);
  const title = await part(page, "help").locator("h2").innerText();
  await page.waitForFunction((title) => document.getElementById("spoken").textContent.startsWith(title), title);
  assert.ok(await part(page, "help").locator("svg").isVisible());
  await page.locator(".live summary").click();
  for (const way of ["use-phone", "assisted", "without-camera"]) await sees(page, way);
  assert.equal(await isFilming(page), true);
  await part(page, "without-camera").click();
  await sees(page, "screen-fallback");
  await isToldTheShop(check);
  page.kept();
});

test("an explanation ends with the challenge", async () => {
  const page = await visitor(browser);
  await perform(page, { places: [] });
  let message = { guidance: "too_far", phase: "framing", prompt: "", done: 0, total: 3 };
  let seen = 0;
  await page.routeWebSocket(/\/stream/, (socket) => {
    socket.send(JSON.stringify({ nonce: "00".repeat(16) }));
    socket.onMessage(() => socket.send(JSON.stringify({ seq: seen++, ...message })));
  });
  await toCamera(page, (await session()).url);
  await part(page, "help").locator("h2").waitFor();
  message = { ...message, guidance: "ok", phase: "challenge", prompt: "hold_still" };
  await part(page, "help").waitFor({ state: "hidden" });
  assert.equal(await part(page, "without-camera").count(), 0);
  page.kept();
});

test("inside another app: a link to copy comes first", async () => {
  const page = await visitor(browser, {
    userAgent: "Mozilla/5.0 (Linux; Android 16; wv) AppleWebKit/537.36 Chrome/156.0 Mobile Safari/537.36",
  });
  await page.context().grantPermissions(["camera", "clipboard-read", "clipboard-write"]);
  await perform(page, { refusal: "NotAllowedError" });
  await toCamera(page, (await session()).url);
  await sees(page, "screen-embedded");
  assert.equal(await page.locator("[data-screen]:visible button").first().getAttribute("data-testid"), "link-first");
  await part(page, "link-first").click();
  await part(page, "copy").click();
  await eventually("the page says that it is copied", async () => (await part(page, "copied").innerText()) !== "");
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(copied, await part(page, "address").innerText());
  const other = await visitor(browser);
  await other.goto(copied);
  await sees(other, "screen-phone");
  page.kept();
  other.kept();
});
