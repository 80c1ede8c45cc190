// The codes of requests to wallets: a phone's camera reads them off the screen,
// and a wallet that demands signed requests gets one.
import assert from "node:assert/strict";
import { createHash, verify, X509Certificate } from "node:crypto";
import { scanGrayBuffer } from "@undecaf/zbar-wasm";
import { launch, visitor } from "./lib/browser.mjs";
import { startGateway } from "./lib/gateway.mjs";
import { frameCount, reads } from "./lib/phone.mjs";
import { after, before, test } from "./lib/row.mjs";
import { asksWallet, part, sees, showsCode } from "./lib/walk.mjs";

/** How many of the frames have to be read. */
const enough = 58;

let gateway, tenant, browser;
before(async () => {
  gateway = await startGateway();
  tenant = gateway.tenant("--document-check");
  gateway.command("verifier", "root", "--name", "Operator");
  gateway.command("verifier", "sign", "--name", "Shop", "--host", "localhost");
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
});

/** A visitor whose session waits for a wallet. */
async function asked() {
  const session = await gateway.session(tenant);
  const page = await visitor(browser);
  await page.goto(`${session.url}?force=fallback`);
  await asksWallet(page);
  return { session, page };
}

/** The code of a kind of wallet as the screen shows it, and its text. */
async function codeOf(page, name) {
  const image = await showsCode(page, name);
  const picture = await image.evaluate(async (img) => {
    await img.decode();
    const side = Math.round(img.getBoundingClientRect().width);
    const canvas = Object.assign(document.createElement("canvas"), { width: side, height: side });
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = getComputedStyle(img).imageRendering !== "pixelated";
    context.drawImage(img, 0, 0, side, side);
    const { data } = context.getImageData(0, 0, side, side);
    return { side, grey: Array.from({ length: side * side }, (_, i) => data[4 * i]) };
  });
  picture.grey = new Uint8Array(picture.grey);
  const symbols = await scanGrayBuffer(picture.grey.slice().buffer, picture.side, picture.side);
  assert.equal(symbols.length, 1, `the code for ${name} on the screen`);
  return { picture, text: symbols[0].decode() };
}

/** How many frames of a code are read. */
async function framesRead({ picture, text }) {
  let read = 0;
  for (let n = 0; n < frameCount; n++) read += await reads(picture, n, text);
  return read;
}

test("a wallet that demands to know who asks gets a signed request by the code", async () => {
  const { session, page } = await asked();
  const { text } = await codeOf(page, "openid4vp");
  const link = new URL(text);
  const clientID = link.searchParams.get("client_id");
  const objects = [];
  for (const nonce of ["", "mine"]) {
    const response = await fetch(link.searchParams.get("request_uri"), nonce ? { method: "POST", body: new URLSearchParams({ wallet_nonce: nonce }) } : {});
    assert.equal(response.headers.get("content-type"), "application/oauth-authz-req+jwt");
    const [header, payload, signature] = (await response.text()).split(".");
    const { typ, alg, x5c } = JSON.parse(Buffer.from(header, "base64url"));
    const certificate = Buffer.from(x5c[0], "base64");
    assert.deepEqual([typ, alg], ["oauth-authz-req+jwt", "ES256"]);
    assert.equal(clientID, `x509_hash:${createHash("sha256").update(certificate).digest("base64url")}`);
    const key = { key: new X509Certificate(certificate).publicKey, dsaEncoding: "ieee-p1363" };
    assert.ok(verify("sha256", Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, "base64url")), "the signature");
    const request = JSON.parse(Buffer.from(payload, "base64url"));
    assert.deepEqual([request.client_id, request.wallet_nonce ?? "", request.response_mode], [clientID, nonce, "direct_post.jwt"]);
    objects.push(request);
  }
  assert.equal(objects[0].nonce, objects[1].nonce);
  const answer = await fetch(objects[1].response_uri, { method: "POST", body: new URLSearchParams({ error: "access_denied", state: objects[1].state }) });
  assert.deepEqual([answer.status, await answer.json()], [200, {}]);
  await page.locator('[data-testid="said"]:not(:empty)').waitFor(); // by itself: the page follows the request
  await sees(page, "screen-wallet");
  assert.equal(await session.status(), "PENDING");
  page.kept();
});

test("a phone's camera reads the codes", async (t) => {
  const { page } = await asked();
  for (const [name, most] of [["openid4vp", 200], ["av", 520]]) {
    const code = await codeOf(page, name);
    assert.ok(code.text.length < most, code.text);
    const read = await framesRead(code);
    t.diagnostic(`${name}: ${code.text.length} bytes, ${read} of ${frameCount} frames read`);
    assert.ok(read >= enough, `${name}: ${read} of ${frameCount}`);
  }
  page.kept();
});
