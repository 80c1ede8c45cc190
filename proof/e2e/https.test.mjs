// The gateway orders its certificate itself, and a browser gives the camera to its
// page, whose name is not localhost: without https there would be none.
import assert from "node:assert/strict";
import { request } from "node:https";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { launch, visitor } from "./lib/browser.mjs";
import { perform } from "./lib/camera.mjs";
import { end, freePort, root, start, startGateway } from "./lib/gateway.mjs";
import { after, before, test } from "./lib/row.mjs";
import { passes, sees, toCamera } from "./lib/walk.mjs";

const host = "age.example.test";
const resolver = `--host-resolver-rules=MAP ${host} 127.0.0.1`;
let directory, trust, gateway, browser, port, plain;

before(async () => {
  plain = await freePort(22_000);
  const options = { cwd: join(root, "proof"), stdio: ["pipe", "pipe", "inherit"] };
  directory = start("go", ["run", "./https/directory/run", String(plain)], options);
  trust = JSON.parse(await new Promise((told) => createInterface(directory.stdout).once("line", told)));
  port = await freePort(12_000);
  gateway = await startGateway({
    AGEGATE_TLS: "acme",
    AGEGATE_ACME_DIRECTORY: trust.URL,
    AGEGATE_LISTEN: `127.0.0.1:${port}`,
    AGEGATE_HTTP_LISTEN: `127.0.0.1:${plain}`,
    AGEGATE_BASE_URL: `https://${host}:${port}`,
    SSL_CERT_FILE: trust.Trust,
  }, { secure: true });
  // The test's own authority is trusted, and no other certificate that Chromium would refuse.
  browser = await launch(resolver, `--ignore-certificate-errors-spki-list=${trust.Pin}`);
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
  if (directory) await end(directory);
});

/** Creates a session as a merchant's backend does, which checks the certificate. */
function create(key) {
  return new Promise((resolve, reject) => {
    const headers = { "X-API-Key": key, "Content-Type": "application/json" };
    const lookup = (name, options, found) => found(null, [{ address: "127.0.0.1", family: 4 }]);
    const call = { host, port, path: "/api/v1/sessions/create", method: "POST", headers, ca: trust.Root, lookup };
    const asked = request(call, async (response) => resolve(JSON.parse((await response.toArray()).join(""))));
    asked.once("error", reject).end(JSON.stringify({ target_age: 13 }));
  });
}

test("a shopper who is led from http to https passes the camera check over the gateway's own certificate", async () => {
  const { verification_url: url } = await create(gateway.tenant().api_keys.test);
  assert.ok(url.startsWith(`https://${host}:${port}/v/`));
  const page = await visitor(browser, { hosts: [host] });
  await perform(page);
  await page.goto(url.replace(`https://${host}:${port}`, `http://${host}:${plain}`));
  assert.equal(page.url(), url);
  assert.equal(await page.evaluate(() => isSecureContext), true);
  await toCamera(page, url);
  await sees(page, "screen-live");
  assert.equal(new URL(page.url()).protocol, "https:");
  await passes(page);
  page.kept();
});

test("a browser that does not know the authority does not open the page", async () => {
  const stranger = await launch(resolver);
  const page = await (await stranger.newContext()).newPage();
  await assert.rejects(page.goto(`https://${host}:${port}/`), /ERR_CERT_AUTHORITY_INVALID/);
  await stranger.close();
});
