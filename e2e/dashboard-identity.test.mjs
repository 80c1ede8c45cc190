// Who gets into the dashboard, and how: passkeys of a virtual authenticator,
// passwords and codes without JavaScript, invitations, recovery, step-up.
// E2E_SHOTS=DIR writes a picture of every page, in both sizes and themes.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isAccessible } from "./lib/axe.mjs";
import { launch, visitor } from "./lib/browser.mjs";
import { root, startGateway } from "./lib/gateway.mjs";
import { fitsWidth, part, sees } from "./lib/walk.mjs";

const phone = { width: 360, height: 740 };
const wide = { width: 1440, height: 900 };
const shots = process.env.E2E_SHOTS;
const passphrase = "four owls under a blue moon";
const expected = /status of (403|409|422|410)/; // refusals are pages too

let gateway, browser, tenant;
before(async () => {
  gateway = await startGateway();
  browser = await launch();
  tenant = gateway.tenant();
  if (shots) mkdirSync(shots, { recursive: true });
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
});

/** Runs a command of the operator and returns what it prints. */
const agegate = (...args) => execFileSync(process.env.AGEGATE_BIN ?? join(root, "bin/agegate"), args, { env: gateway.env, encoding: "utf8" }).trim();

/** Opens a browser of somebody of their own, with a device that makes passkeys. */
async function person(options = {}) {
  const page = await visitor(browser, { broken: expected, camera: false, viewport: wide, ...options });
  const device = await page.context().newCDPSession(page);
  await device.send("WebAuthn.enable");
  const { authenticatorId } = await device.send("WebAuthn.addVirtualAuthenticator", {
    options: { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
  });
  page.authenticator = (method, params = {}) => device.send(`WebAuthn.${method}`, { authenticatorId, ...params });
  return page;
}

/** Lets a person's device answer without being touched, or not at all. */
const answering = (page, enabled) => page.authenticator("setAutomaticPresenceSimulation", { enabled });

const fill = async (page, values) => {
  for (const [name, value] of Object.entries(values)) await page.locator(`[name="${name}"]:visible`).fill(value);
};
const arrives = (page, path) => page.waitForURL((url) => url.pathname === path);
const home = () => `/dashboard/${tenant.tenant_id}/test`;

/** Looks at a page as everybody sees it: both widths, both themes, both languages. */
async function look(page, name) {
  for (const size of [phone, wide]) {
    for (const colorScheme of ["light", "dark"]) {
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      if (shots) await page.screenshot({ path: join(shots, `${name}-${size.width}-${colorScheme}.png`), fullPage: true });
      await isAccessible(page);
      await fitsWidth(page);
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
}

/** What an authenticator app shows now, or in some steps of 30 seconds. */
function appCode(secret, steps = 0) {
  const bits = [...secret].map((c) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(c).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps));
  const sum = createHmac("sha1", key).update(counter).digest();
  const offset = sum[19] & 15;
  return String((sum.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

let ada; // the owner, who has a passkey

test("the setup link makes an operator with a passkey in two clicks and two fields", async () => {
  const link = agegate("user", "setup-link", "--tenant", tenant.tenant_id);
  ada = await person();
  await ada.goto(link);
  await look(ada, "setup");
  await fill(ada, { name: "Ada", email: "ada@shop.example" });
  await part(ada, "passkey").click();
  await arrives(ada, home());
  const { credentials } = await ada.authenticator("getCredentials");
  assert.equal(credentials.length, 1);
  assert.equal(credentials[0].isResidentCredential, true);
  assert.equal(credentials[0].rpId, "localhost");
  await ada.goto(`${gateway.url}/dashboard/${tenant.tenant_id}/live`); // a passkey is two factors
  await part(ada, "mode-live").waitFor();
  const late = await person();
  await late.goto(link);
  await late.getByRole("heading", { name: "no longer valid" }).waitFor();
  await look(late, "link-gone");
  ada.kept();
});

test("a passkey opens the dashboard, each answer of it once", async () => {
  await answering(ada, false); // or it answers what the browser suggests at once
  await part(ada, "log-out").click();
  await arrives(ada, "/dashboard/login");
  await ada.goto(`${gateway.url}/dashboard/login?next=/dashboard/account`);
  await look(ada, "login");
  await answering(ada, true);
  const sent = ada.waitForRequest((request) => request.method() === "POST" && request.url().endsWith("/login/passkey"));
  await part(ada, "passkey").click();
  await arrives(ada, "/dashboard/account");
  const answer = (await sent).postData();
  const replayed = await fetch(`${gateway.url}/dashboard/login/passkey`, {
    method: "POST", redirect: "manual", body: answer,
    headers: { "Content-Type": "application/x-www-form-urlencoded", Origin: gateway.url },
  });
  assert.equal(replayed.status, 422);
  // Among the suggestions for the e-mail field: no click at all.
  await answering(ada, false);
  await part(ada, "log-out").click();
  await arrives(ada, "/dashboard/login");
  await answering(ada, true);
  await ada.goto(`${gateway.url}/dashboard/login?next=/dashboard/account`, { waitUntil: "commit" });
  await arrives(ada, "/dashboard/account");
  await sees(ada, "one-way");
  await look(ada, "account-one-way");
  ada.kept();
});

test("a second passkey, named, and removed again; the last one stays", async () => {
  await part(ada, "add-passkey").click();
  await look(ada, "passkey-new");
  // The same device refuses: it has one for this account.
  await fill(ada, { name: "<b>Key</b>" });
  await part(ada, "passkey").click();
  await ada.getByRole("alert").filter({ hasText: "The device gave no passkey" }).waitFor();
  // Another device takes its place.
  const { credentials } = await ada.authenticator("getCredentials");
  await ada.authenticator("removeCredential", { credentialId: credentials[0].credentialId });
  await ada.goto(`${gateway.url}/dashboard/account/passkeys/new`);
  await fill(ada, { name: "<b>Key</b>" });
  await part(ada, "passkey").click();
  await arrives(ada, "/dashboard/account");
  const rows = ada.locator('[data-testid="passkey-row"]');
  assert.equal(await rows.count(), 2);
  assert.ok((await rows.nth(1).textContent()).includes("<b>Key</b>"));
  await look(ada, "account-two-passkeys");
  await rows.first().getByRole("link").click();
  await look(ada, "passkey-remove");
  await part(ada, "confirm").click();
  await arrives(ada, "/dashboard/account");
  assert.equal(await rows.count(), 1);
  await rows.first().getByRole("link").click();
  await part(ada, "confirm").click();
  await ada.getByText("It is your only way in").waitFor();
  ada.kept();
});

let invitation;
test("an owner invites; the link is shown once", async () => {
  await ada.goto(`${gateway.url}/dashboard/${tenant.tenant_id}/team`);
  await look(ada, "team-alone");
  await ada.locator("select").selectOption("viewer");
  await part(ada, "invite").click();
  await sees(ada, "invitation-link");
  invitation = await ada.locator('[data-testid="invitation-link"] code').textContent();
  await look(ada, "team-invited");
  await ada.goto(`${gateway.url}/dashboard/${tenant.tenant_id}/team`);
  assert.ok(!(await ada.content()).includes(invitation.split("/").at(-1)));
  ada.kept();
});

let secret;
test("password, app and recovery code, all without JavaScript", async () => {
  const bob = await person({ javaScriptEnabled: false });
  await bob.goto(invitation);
  await fill(bob, { name: "Bob <script>alert(1)</script>", email: "bob@shop.example", password: "short" });
  await part(bob, "set-up").click();
  await bob.getByText("needs at least 12 characters").first().waitFor();
  await fill(bob, { password: passphrase });
  await part(bob, "set-up").click();
  await arrives(bob, home());
  await bob.goto(`${gateway.url}/dashboard/${tenant.tenant_id}/live`);
  await part(bob, "add-factor").click();
  await sees(bob, "weak");
  await part(bob, "set-up-totp").click();
  await part(bob, "confirm").click();
  const picture = part(bob, "totp-picture");
  await picture.waitFor();
  secret = await bob.locator('[data-testid="totp-secret"] code').textContent();
  await fill(bob, { code: appCode(secret) });
  await part(bob, "add-totp").click();
  const codes = await bob.locator('[data-testid="codes"] code').allTextContents();
  assert.equal(codes.length, 10);
  await bob.goto(`${gateway.url}/dashboard/${tenant.tenant_id}/live`);
  await part(bob, "mode-live").waitFor();

  for (const [code, opens] of [[codes[0], true], [codes[0], false], [appCode(secret, 1), true]]) {
    const again = await person({ javaScriptEnabled: false });
    await again.goto(`${gateway.url}/dashboard/login`);
    await fill(again, { email: "bob@shop.example", password: passphrase });
    await part(again, "log-in").click();
    await fill(again, { code });
    await part(again, "log-in").click();
    if (opens) await arrives(again, home());
    else await again.getByText("wrong or was used before").waitFor();
    await again.context().close();
  }
  bob.kept();
  await bob.context().close();
});

test("the pages of a password, as everybody sees them", async () => {
  const bob = await person({ colorScheme: "light" });
  await bob.goto(`${gateway.url}/dashboard/login`);
  await fill(bob, { email: "bob@shop.example", password: "not the password" });
  await part(bob, "log-in").click();
  await sees(bob, "summary");
  await look(bob, "login-wrong");
  await fill(bob, { password: passphrase });
  await part(bob, "log-in").click();
  await bob.locator('[name="code"]').waitFor();
  await look(bob, "login-second");
  await fill(bob, { code: "000000" });
  await part(bob, "log-in").click();
  await sees(bob, "summary");
  await look(bob, "login-second-wrong");
  bob.kept();
  await bob.context().close();
});

test("a member is promoted, demoted and removed", async () => {
  await ada.goto(`${gateway.url}/dashboard/${tenant.tenant_id}/team`);
  const bob = ada.locator('[data-testid="member"]').filter({ hasText: "Bob" });
  assert.ok((await bob.textContent()).includes("<script>alert(1)</script>"));
  await look(ada, "team-two");
  await bob.getByRole("link").click();
  await look(ada, "member");
  await ada.locator("select").selectOption("developer");
  await part(ada, "set-role").click();
  assert.ok((await bob.textContent()).includes("Developer"));
  await bob.getByRole("link").click();
  await part(ada, "remove-member").click();
  await part(ada, "confirm").click();
  await sees(ada, "notice");
  assert.equal(await bob.count(), 0);
  await ada.locator('[data-testid="member"]').getByRole("link").click();
  await ada.locator("select").selectOption("viewer");
  await part(ada, "set-role").click();
  await ada.getByText("A tenant needs an owner").waitFor();
  ada.kept();
});

test("a confirmation by passkey brings a new cookie", async () => {
  const cookie = async () => (await ada.context().cookies()).find(({ name }) => name.endsWith("agegate-user")).value;
  const before = await cookie();
  await ada.goto(`${gateway.url}/dashboard/step-up?next=//evil.example/`);
  await look(ada, "step-up");
  await part(ada, "passkey").click();
  await arrives(ada, home());
  assert.notEqual(await cookie(), before);
  const stale = await fetch(`${gateway.url}/dashboard/account`, { redirect: "manual", headers: { Cookie: `agegate-user=${before}` } });
  assert.equal(stale.status, 303);
  ada.kept();
});

test("the own account in German, with an app and codes", async () => {
  await ada.goto(`${gateway.url}/dashboard/account/password`);
  await look(ada, "password");
  await fill(ada, { password: passphrase });
  await part(ada, "set-password").click();
  await arrives(ada, "/dashboard/account");
  await part(ada, "language").selectOption("de");
  await part(ada, "set-language").click();
  await ada.getByRole("heading", { name: "Ihr Konto" }).waitFor();
  await part(ada, "set-up-totp").click();
  await look(ada, "totp-begin");
  await part(ada, "confirm").click();
  await part(ada, "totp-picture").waitFor();
  assert.ok(await part(ada, "totp-picture").evaluate((picture) => picture.decode().then(() => picture.naturalWidth > 0)));
  await look(ada, "totp");
  await fill(ada, { code: appCode(await ada.locator('[data-testid="totp-secret"] code').textContent()) });
  await part(ada, "add-totp").click();
  await sees(ada, "codes");
  await look(ada, "codes");
  await part(ada, "kept").click();
  await look(ada, "account-full");
  ada.kept();
});

test("recovery replaces every factor", async () => {
  const link = agegate("user", "recover", "ada@shop.example");
  const again = await person();
  await again.goto(link);
  await look(again, "recover");
  await part(again, "passkey").click();
  await arrives(again, home());
  await again.goto(`${gateway.url}/dashboard/account`);
  assert.equal(await again.locator('[data-testid="passkey-row"]').count(), 1);
  await sees(again, "one-way");
  await Promise.all([answering(ada, false), answering(again, false)]);
  await ada.goto(`${gateway.url}/dashboard/account`);
  await arrives(ada, "/dashboard/login");
  agegate("user", "disable", "ada@shop.example");
  await again.goto(`${gateway.url}/dashboard/account`);
  await arrives(again, "/dashboard/login");
  again.kept();
});

test("no secret is in the log, and no page may be framed", async () => {
  for (const secret of [passphrase, invitation.split("/").at(-1)]) assert.ok(!gateway.log.includes(secret));
  const framed = await fetch(`${gateway.url}/dashboard/login`);
  assert.match(framed.headers.get("content-security-policy"), /frame-ancestors 'none'/);
  assert.equal(framed.headers.get("x-frame-options"), "DENY");
});
