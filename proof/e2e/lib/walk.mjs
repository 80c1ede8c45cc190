// Steps of a shopper through the hosted page.
import assert from "node:assert/strict";
import { patience } from "./gateway.mjs";

/** The element that a data-testid names. */
export const part = (page, id) => page.locator(`[data-testid="${id}"]:visible`);

/** Waits for a screen by its data-testid, and for the rest of its page: a page shows while it is still being read. */
export async function sees(page, id) {
  await part(page, id).waitFor({ timeout: patience }).catch(async (error) => {
    const shown = await page.locator('[data-testid^="screen-"]:visible, [data-testid^="notice-"]:visible, h1:visible').allTextContents();
    throw new Error(`${page.url()} shows ${JSON.stringify(shown)}, not ${id}`, { cause: error });
  });
  await page.waitForLoadState("domcontentloaded");
}

/**
 * Clicks what leads to another page, be it the same address again, and waits for
 * the whole of that page. A click alone does not wait for what a form or a script
 * sends.
 */
export async function leads(page, control) {
  await control.waitFor();
  await page.waitForLoadState("domcontentloaded"); // or the next one could be this page's
  await Promise.all([page.waitForEvent("domcontentloaded"), control.click()]);
}

/**
 * Goes from the introduction to the primer before the camera; begun means that
 * the introduction is past. share is the choice on the consent screen.
 */
export async function toPrimer(page, url, { share = null, begun = false } = {}) {
  if (!begun) {
    await page.goto(url);
    await part(page, "start").click();
  }
  if (share !== null) {
    if (share) await part(page, "share").check();
    await part(page, "continue").click();
  }
  await sees(page, "screen-primer");
  await page.locator('[data-testid="open-camera"]:enabled').waitFor();
}

/** Follows the primer's button to the camera, once the page's script has enabled it. */
export const openCamera = (page) => part(page, "open-camera").click();

/** Goes from the introduction to the running camera. */
export async function toCamera(page, url, options) {
  await toPrimer(page, url, options);
  await openCamera(page);
}

/**
 * Waits until the camera check has led the browser to a page that done()
 * accepts. Like a shopper, begins another attempt where the page offers one,
 * of a face or of a document, which a busy machine makes it do now and then, as
 * often as a session allows.
 */
export async function gets(page, done, attempts = 5) {
  const face = part(page, "show-face"); // beside a document that was read
  const offer = part(page, "again").or(part(page, "refused-doubtful")).or(face).first();
  for (let left = attempts - 1; left > 0; left--) {
    const ended = done().then(() => true); // anew, since each attempt takes its time
    const again = offer.waitFor().then(() => false);
    for (const late of [ended, again]) late.catch(() => {}); // the page has gone on
    if (await Promise.race([ended, again])) return;
    await ((await face.isVisible()) ? face.click() : openCamera(page));
    const live = sees(page, "screen-live");
    live.catch(() => {}); // it was over before it was seen
    await Promise.race([ended, live]);
  }
  await done();
}

/** Waits until the browser is at the merchant's success URL. */
export const passes = (page) =>
  gets(page, () => page.waitForURL((url) => url.searchParams.get("status") === "VERIFIED" || /orders/.test(url.pathname)));

/** Chooses a wallet as the way of the document check. */
export async function asksWallet(page) {
  await part(page, "way-wallet").click();
  await sees(page, "screen-wallet");
}

/** Shows the code of a kind of wallet on the wallet's page, and returns its picture. */
export async function showsCode(page, name) {
  const code = page.locator(`[data-app]:has([data-testid="app-${name}"]) .qr img`);
  if (!(await part(page, `app-${name}`).isVisible())) await part(page, "others").click(); // a phone folds all codes
  if (!(await code.isVisible())) await part(page, `app-${name}`).click();
  await code.waitFor();
  return code;
}

/** Chooses photographs as the way of the document check, agrees, and goes on to the primer before the camera. */
export async function agreesToPhotograph(page) {
  await part(page, "way-photo").click();
  await sees(page, "screen-photo");
  await part(page, "compare").check();
  await part(page, "continue").click();
  await sees(page, "screen-primer");
  await page.locator('[data-testid="open-camera"]:enabled').waitFor();
}

/** Shares a document of the sample wallet, which a page of ours is. */
export async function shares(page, { age = 30, kind = "valid" } = {}) {
  const sample = part(page, "sample-wallet");
  await sample.or(part(page, "age")).waitFor({ timeout: patience });
  if (await sample.isVisible()) await sample.click();
  await part(page, "age").fill(String(age));
  await part(page, "kind").selectOption(kind);
  await part(page, "share-proof").click();
}

/** Waits until the guidance shown has the given key, such as too_dark or prompt.turn_left. */
export async function isTold(page, key) {
  await page.waitForFunction(
    (wanted) => {
      const texts = [...document.getElementById("texts").content.children];
      const shown = document.getElementById("guidance-text").textContent;
      return texts.some((e) => e.dataset.key === wanted && e.textContent === shown);
    },
    key,
    { timeout: patience },
  );
}

/**
 * Puts a server before the page that answers every picture with the same
 * message, so that the screen stays as it is; after `pictures` of them it once
 * ends the check, in which nothing had begun.
 */
export const answersAlways = (page, message, pictures = Infinity) =>
  page.routeWebSocket(/\/stream/, (socket) => {
    let seen = 0;
    socket.send(JSON.stringify({ nonce: "00".repeat(16) }));
    socket.onMessage(() => {
      const ends = ++seen > pictures;
      if (ends) pictures = Infinity; // the next attempt goes on, so that it can be seen
      socket.send(JSON.stringify(ends ? { next: "retry" } : { seq: seen - 1, ...message }));
    });
  });

/** Collects what the server sends the page while the camera runs. */
export function hears(page) {
  const messages = [];
  page.on("websocket", (socket) => socket.on("framereceived", ({ payload }) => messages.push(JSON.parse(payload))));
  return messages;
}

/** Fails if the page can be scrolled sideways. */
export async function fitsWidth(page) {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(content <= window, `${content} pixels of content in a window of ${window}`);
}

/** Ends the document check, which asks once more. */
export async function ends(page) {
  await part(page, "decline").click();
  await part(page, "decline-sure").click();
}
