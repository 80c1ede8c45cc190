// The document check with a wallet: a refused shopper proves the age with the
// sample wallet, and what does not prove it is refused.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { launch, visitor } from "./lib/browser.mjs";
import { perform } from "./lib/camera.mjs";
import { startGateway } from "./lib/gateway.mjs";
import { after, before, test } from "./lib/row.mjs";
import { asksWallet, ends, fitsWidth, gets, part, passes, sees, shares, showsCode, toCamera } from "./lib/walk.mjs";

let gateway, tenant, browser;
before(async () => {
  gateway = await startGateway({ AGEGATE_LOG_LEVEL: "debug" });
  tenant = gateway.tenant("--document-check");
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
});

/** The request in a link to the sample wallet, and the link to it. */
const requestOf = (link) => new URLSearchParams(Buffer.from(link.split("/").at(-1), "base64url").toString());
const linkTo = (request) => `${gateway.url}/sample-wallet/${Buffer.from(request.toString()).toString("base64url")}`;

/** A visitor whose session waits for a wallet. */
async function asked(options) {
  const session = await gateway.session(tenant);
  const page = await visitor(browser, options);
  await page.goto(`${session.url}?force=fallback`);
  await asksWallet(page);
  return { session, page };
}

test("a shopper refused by the camera passes with the sample wallet", async () => {
  const session = await gateway.session(tenant, { age: 60 }); // far above the face of the clips
  const page = await visitor(browser);
  await perform(page);
  await toCamera(page, session.url);
  await gets(page, () => sees(page, "screen-document"));
  await asksWallet(page);
  await shares(page, { age: 60 });
  await passes(page);
  assert.equal(await session.status(), "PASSED");
  page.kept();
});

test("under age, expired and under age again: told why, and the third is final", async () => {
  const { session, page } = await asked();
  await shares(page, { age: 17 });
  await sees(page, "refused-under_age");
  await asksWallet(page);
  await shares(page, { age: 40, kind: "expired" });
  await sees(page, "refused-expired");
  await asksWallet(page);
  await shares(page, { age: 12 });
  await sees(page, "screen-fallback");
  assert.equal(await session.status(), "FALLBACK");
  page.kept();
});

const phone = { viewport: { width: 360, height: 740 }, userAgent: "Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36 Chrome/156.0 Mobile Safari/537.36" };
const shown = (page, name) => page.locator(`[data-app]:has([data-testid="app-${name}"]) .qr img`).isVisible();

/** The names of the buttons on the wallet's page that are in view, the main one marked. */
const buttons = (page) => page.locator('#wallet .button:not(.quiet, [data-testid="sample-wallet"]):visible')
  .evaluateAll((all) => all.map((b) => `${b.classList.contains("primary") ? "*" : ""}${b.textContent}`));
const opensEU = "Open the EU’s age verification app";
const opensAny = "Open another wallet (ISO 18013‑5)";

test("on a phone two ways are in view, each says what it opens, and the rest is folded", async () => {
  for (const asks of [false, true]) {
    const { page } = await asked(phone);
    await page.addInitScript((asks) => {
      window.DigitalCredential = asks ? class {} : undefined;
    }, asks);
    await page.reload();
    const seen = asks ? ["*Ask my wallet", opensEU] : [`*${opensEU}`, opensAny];
    assert.deepEqual(await buttons(page), seen);
    assert.deepEqual(await page.locator("#wallet summary:visible").allTextContents(), ["Other ways and devices", "Privacy"]);
    for (const name of ["av", "openid4vp"]) {
      assert.ok(!(await shown(page, name)), `the code for ${name} is in the way`);
      const code = await showsCode(page, name);
      await page.setViewportSize({ width: 1440, height: 900 });
      const { width } = await code.boundingBox();
      assert.ok(width > 400, `a dense code has ${width} pixels on a large screen`);
      await page.setViewportSize(phone.viewport);
      await fitsWidth(page);
    }
    assert.deepEqual(await buttons(page), asks ? [...seen, opensAny] : seen);
    page.kept();
  }
});

test("on a computer a code is whole, in view and in its column, and no button opens an app", async () => {
  const { page } = await asked({ viewport: { width: 1440, height: 900 } });
  for (const [name, other] of [["av", "openid4vp"], ["openid4vp", "av"]]) {
    const code = await (await showsCode(page, name)).boundingBox();
    assert.ok(code.y + code.height <= 900, `the code for ${name} ends at ${code.y + code.height}`);
    assert.ok(code.width <= (await page.locator("#wallet h1").boundingBox()).width, `the code for ${name} is wider than the text`);
    assert.equal(await part(page, `open-${name}`).isVisible(), false, name);
    assert.ok(!(await shown(page, other)), `two codes side by side, a camera reads either`);
  }
  page.kept();
});

test("where no app opens, the page says so and shows the code", async () => {
  for (const options of [phone, { hasTouch: true, isMobile: true }]) { // a tablet says that it is a computer
    const { page } = await asked(options);
    const open = part(page, "open-av");
    if (!(await open.isVisible())) await showsCode(page, "av");
    await open.evaluate((link) => link.addEventListener("click", (event) => event.preventDefault())); // as without a wallet
    await open.click();
    await part(page, "nothing-av").filter({ hasText: "Did nothing open?" }).waitFor();
    assert.ok(await shown(page, "av"));
    await fitsWidth(page);
    page.kept();
  }
});

test("a stranger's document is refused, counts nothing, and another one passes", async () => {
  const { session, page } = await asked();
  for (let n = 0; n < 4; n++) {
    await shares(page, { kind: "untrusted" });
    await sees(page, "screen-wallet");
    await page.locator('[data-testid="said"]:not(:empty)').waitFor();
  }
  assert.equal(await session.status(), "PENDING");
  await shares(page);
  await passes(page);
  page.kept();
});

test("a relayed code: the other browser gets nothing, the shopper's own goes on", async () => {
  const { session, page } = await asked();
  const request = await part(page, "sample-wallet").getAttribute("href");
  const adult = await visitor(browser, { viewport: { width: 360, height: 740 } });
  await adult.goto(`${gateway.url}${request}?lang=de`);
  await fitsWidth(adult);
  await shares(adult);
  await sees(adult, "notice-elsewhere");
  await passes(page); // by itself: the page follows the request
  assert.equal(await session.status(), "PASSED");
  assert.ok(!adult.url().includes("VERIFIED"), "the other browser was sent to the shop");
  page.kept();
  adult.kept();
});

test("a presentation made for another session is refused", async () => {
  const mine = await asked();
  const other = await asked();
  const request = async (page) => requestOf(await part(page, "sample-wallet").getAttribute("href"));
  const swapped = await request(mine.page);
  swapped.set("nonce", (await request(other.page)).get("nonce"));
  await mine.page.goto(linkTo(swapped));
  await shares(mine.page);
  await mine.page.locator('[data-testid="said"]:not(:empty)').waitFor();
  for (const { session, page } of [mine, other]) {
    assert.equal(await session.status(), "PENDING");
    page.kept();
  }
});

test("the browser's own wallet is asked, and a closed dialog can be tried again", async () => {
  const { session, page } = await asked();
  await page.addInitScript(() => {
    window.DigitalCredential = class {
      static userAgentAllowsProtocol = (protocol) => protocol === "org-iso-mdoc";
    };
    navigator.credentials.get = (options) => {
      window.askedWith = options;
      window.saidWhile = document.getElementById("said").className;
      return Promise.reject(new DOMException("closed", "NotAllowedError"));
    };
  });
  await page.reload();
  await part(page, "ask-wallet").click();
  await page.locator('[data-testid="said"]:not(:empty)').waitFor();
  await page.locator('[data-testid="ask-wallet"]:enabled').waitFor();
  const { mediation, digital } = await page.evaluate(() => window.askedWith);
  assert.equal(mediation, "required");
  assert.equal(await page.evaluate(() => window.saidWhile), "note", "no warning while the wallet is asked");
  assert.deepEqual(digital.requests.map((r) => r.protocol), ["org-iso-mdoc", "org-iso-mdoc"]);
  assert.equal(await session.status(), "PENDING");
  page.kept();
});

test("where no wallet answers the browser, the page shows a code and its other ways still lead on", async () => {
  const { page } = await asked();
  await page.addInitScript(() => {
    window.DigitalCredential = class {};
    navigator.credentials.get = () => new Promise(() => {});
  });
  await page.reload();
  await part(page, "ask-wallet").click();
  await part(page, "said").filter({ hasText: "Continue in your wallet. Did nothing open?" }).waitFor();
  assert.ok(await shown(page, "av"), "the first code is not in view");
  await part(page, "sample-wallet").click();
  await sees(page, "screen-sample");
  page.kept();
});

test("without JavaScript the sample wallet and the way out work", async () => {
  const { session, page } = await asked({ javaScriptEnabled: false });
  await shares(page);
  await page.waitForURL(`${gateway.shop}/?passed**`);
  assert.equal(await session.status(), "PASSED");
  const other = await asked({ javaScriptEnabled: false });
  await part(other.page, "other-way").click();
  await ends(other.page);
  await sees(other.page, "screen-fallback");
  page.kept();
  other.page.kept();
});

test("without JavaScript every code stays in view while the page is loaded again and again", async () => {
  for (const options of [{}, phone]) {
    const { page } = await asked({ ...options, javaScriptEnabled: false });
    for (const name of ["openid4vp", "av"]) assert.ok(await shown(page, name), name);
    page.kept();
  }
});

test("nothing of a document reaches disk, database or log", async () => {
  // A crash must not write the memory to disk either.
  assert.match(readFileSync(`/proc/${gateway.pid}/limits`, "utf8"), /Max core file size +0 +0/);
  const sent = [];
  const { page } = await asked();
  const link = await part(page, "sample-wallet").getAttribute("href");
  const to = requestOf(link).get("response_uri");
  const canary = `canary${Math.random().toString(36).slice(2)}`;
  for (const field of ["vp_token", "response", "state"]) {
    sent.push(await fetch(to, { method: "POST", body: new URLSearchParams({ [field]: `{"age":["${canary}"]}` }) }).then((r) => r.status));
  }
  assert.deepEqual(sent, [400, 400, 400]);
  await shares(page, { age: 47 });
  await passes(page);
  const look = () => {
    for (const file of readdirSync(gateway.data, { recursive: true, withFileTypes: true }).filter((f) => f.isFile())) {
      const bytes = readFileSync(join(file.parentPath ?? file.path, file.name));
      for (const trace of [canary, "age_over_", "elementIdentifier", "deviceSigned"]) {
        assert.equal(bytes.indexOf(trace), -1, `${file.name} holds ${trace}`);
      }
    }
    for (const trace of [canary, "age_over_", "vp_token"]) assert.ok(!gateway.log.includes(trace), `the log holds ${trace}`);
  };
  look();
  await gateway.halt();
  look();
});
