// Wallets that others wrote (proof/wallets) answer the hosted page in a browser:
// through a stand-in of the Digital Credentials API, by its links, and by the codes
// as the screen shows them.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import "../wallets/npm/install.mjs";
import { launch, visitor } from "./lib/browser.mjs";
import { startGateway } from "./lib/gateway.mjs";
import { after, before, test } from "./lib/row.mjs";
import { asksWallet, part, passes, showsCode } from "./lib/walk.mjs";

const { Wallet, allowInsecure, issue } = await import("../wallets/npm/wallet.mjs");
const { newAuthority } = await import("../wallets/npm/authority.mjs");

const kinds = {
  mdl: { docType: "org.iso.18013.5.1.mDL", namespace: "org.iso.18013.5.1" },
  "proof-of-age": { docType: "eu.europa.ec.av.1", namespace: "eu.europa.ec.av.1" },
  pid: { docType: "urn:eudi:pid:1" }, // an SD-JWT
};
const documents = {};
const tenants = {};
let gateway, browser, roots;

before(async () => {
  allowInsecure(); // the gateway of the test has no TLS
  gateway = await startGateway();
  const authority = await newAuthority();
  const file = join(gateway.data, "authority.pem");
  writeFileSync(file, authority.certificate);
  for (const [name, kind] of Object.entries(kinds)) {
    gateway.command("trust", "add", file, "--name", "Utopia", "--doctype", name);
    documents[name] = await issue({ ...kind, ...authority });
  }
  const root = gateway.command("verifier", "root", "--name", "Operator");
  roots = [root.replace(/-----[^-]+-----|\s/g, "")];
  for (const named of ["none", "x509_hash", "x509_san_dns"]) {
    tenants[named] = gateway.tenant("--document-check", "--wallet-pid");
    if (named !== "none") {
      gateway.command("verifier", "sign", "--tenant", tenants[named].tenant_id, "--name", "Shop", "--host", "localhost", "--client-id", named);
    }
  }
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
});

/** A visitor whose session waits for a wallet; the page's browser asks the given one. */
async function asked(named, wallet, protocols) {
  const session = await gateway.session(tenants[named]);
  const page = await visitor(browser, { deviceScaleFactor: 3, hasTouch: true, isMobile: true }); // a tablet has links and codes
  await page.exposeFunction("askWallet", (requests, origin) => wallet.present(requests, origin, protocols));
  await page.addInitScript(() => {
    window.DigitalCredential = class {
      static userAgentAllowsProtocol = () => true;
    };
    navigator.credentials.get = ({ digital }) => window.askWallet(digital.requests, location.origin);
  });
  await page.goto(`${session.url}?force=fallback`);
  await asksWallet(page);
  return { session, page };
}

/** Opens the part of the page that asks a kind of app, and returns its link. */
async function app(page, scheme) {
  await showsCode(page, scheme);
  return part(page, `open-${scheme}`);
}

async function ends({ session, page }) {
  await passes(page);
  assert.equal(await session.status(), "PASSED");
  page.kept();
}

for (const [named, protocol] of [
  ["none", "org-iso-mdoc"],
  ["none", "openid4vp-v1-unsigned"],
  ["x509_hash", "org-iso-mdoc"],
  ["x509_hash", "openid4vp-v1-signed"],
  ["x509_san_dns", "openid4vp-v1-signed"],
]) {
  for (const kind of Object.keys(kinds).filter((k) => k !== "pid" || protocol !== "org-iso-mdoc")) {
    test(`${kind} by the browser's API: ${protocol}, ${named}`, async () => {
      const wallet = new Wallet({ document: documents[kind], roots, strict: named !== "none" });
      const shopper = await asked(named, wallet, [protocol]);
      await part(shopper.page, "ask-wallet").click();
      await ends(shopper);
    });
  }
}

for (const [named, scheme, kind] of [
  ["none", "openid4vp", "mdl"],
  ["none", "av", "proof-of-age"],
  ["x509_hash", "openid4vp", "mdl"],
  ["x509_san_dns", "openid4vp", "proof-of-age"],
  ["none", "openid4vp", "pid"],
  ["x509_hash", "openid4vp", "pid"],
]) {
  const strict = named !== "none";
  test(`${kind} by the link ${scheme}://, ${named}`, async () => {
    const wallet = new Wallet({ document: documents[kind], roots, strict });
    const shopper = await asked(named, wallet, []);
    const link = await (await app(shopper.page, scheme)).getAttribute("href");
    const { status, body } = await wallet.answer(link);
    assert.equal(status, 200);
    await shopper.page.goto(JSON.parse(body).redirect_uri);
    await ends(shopper);
  });
  test(`${kind} by the code ${scheme}:// on the screen, ${named}`, async () => {
    const wallet = new Wallet({ document: documents[kind], roots, strict });
    const shopper = await asked(named, wallet, []);
    const code = await (await showsCode(shopper.page, scheme)).screenshot();
    const { status } = await wallet.answer(Wallet.scan(code));
    assert.equal(status, 200);
    await ends(shopper); // by itself: the page follows the request
  });
}

test("an unsigned request gets no answer from a wallet for registered verifiers only, and the page says so", async () => {
  const wallet = new Wallet({ document: documents.mdl, roots, strict: true });
  const { session, page } = await asked("none", wallet, ["org-iso-mdoc", "openid4vp-v1-unsigned"]);
  await part(page, "ask-wallet").click();
  await page.locator('[data-testid="said"]:not(:empty)').waitFor();
  await page.locator('[data-testid="ask-wallet"]:enabled').waitFor();
  assert.equal(await session.status(), "PENDING");
  page.kept();
});

test("a holder who declines reads so, and may answer after all", async () => {
  const wallet = new Wallet({ document: documents.mdl, roots });
  const shopper = await asked("none", wallet, ["openid4vp-v1-unsigned"]);
  const link = await (await app(shopper.page, "openid4vp")).getAttribute("href");
  assert.equal((await wallet.decline(link)).status, 200);
  await shopper.page.getByText("You declined in your wallet. You can ask again.").waitFor();
  await part(shopper.page, "ask-wallet").click();
  await ends(shopper);
});
