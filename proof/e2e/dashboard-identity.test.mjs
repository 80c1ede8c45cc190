// Who gets into the dashboard, and how: passkeys of a virtual authenticator,
// passwords and codes without JavaScript, invitations, recovery, step-up.
// E2E_SHOTS=DIR writes a picture of every page, in both sizes and themes.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { launch } from "./lib/browser.mjs";
import { startGateway } from "./lib/gateway.mjs";
import { startProvider } from "./lib/idp.mjs";
import { after, before, test } from "./lib/row.mjs";
import * as staff from "./lib/staff.mjs";
import { asks, confirms, fill, look, passphrase, sawItsPages } from "./lib/staff.mjs";
import { leads, part, sees } from "./lib/walk.mjs";

let gateway, browser, tenant;
before(async () => {
  gateway = await startGateway();
  browser = await launch();
  tenant = gateway.tenant();
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
});

const agegate = (...args) => staff.agegate(gateway, ...args);
const person = (options) => staff.person(browser, options);

/** Lets a person's device answer without being touched, or not at all. */
const answering = (page, enabled) => page.authenticator("setAutomaticPresenceSimulation", { enabled });

/** Logs somebody out by the menu of the account, not by the second of two clicks that open it. */
async function logOut(page) {
  await part(page, "account-menu").dblclick();
  await part(page, "log-out").click();
  await arrives(page, "/dashboard/login");
}

const arrives = (page, path) => page.waitForURL((url) => url.pathname === path);
const home = () => `/dashboard/${tenant.tenant_id}/test`;

/** What an authenticator app shows now, or in some steps of 30 seconds. */
function appCode(secret, steps = 0) {
  const bits = [...secret.replaceAll(" ", "")].map((c) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(c).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps));
  const sum = createHmac("sha1", key).update(counter).digest();
  const offset = sum[19] & 15;
  return String((sum.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

/** The fields that the page names as wrong, in order. */
const faults = (page) => part(page, "summary").locator("li a").evaluateAll((links) => links.map((a) => a.hash));

let ada; // the owner, who has a passkey

test("the setup link makes an operator with a passkey in two clicks and two fields", async () => {
  const link = agegate("user", "setup-link", "--tenant", tenant.tenant_id);
  ada = await person({ hosts: ["127.0.0.1"] });
  await ada.goto(link);
  await look(ada, "setup");
  await fill(ada, { email: "ada" });
  await part(ada, "passkey").click();
  assert.deepEqual(await faults(ada), ["#f-name", "#f-email"]);
  await fill(ada, { name: "Ada", email: "ada@shop.example" });
  await part(ada, "passkey").click();
  await arrives(ada, home());
  await part(ada, "notice").getByText("So far only this device’s passkey opens it").waitFor();
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
  await logOut(ada);
  await ada.goto(`${gateway.url}/dashboard/login?next=/dashboard/account`);
  await look(ada, "login");
  await part(ada, "lost").locator("summary").press("Enter");
  await part(ada, "lost").getByText("with this command: agegate user recover").waitFor();
  await look(ada, "login-lost");
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
  await logOut(ada);
  await ada.goto("about:blank"); // whose suggestion could be answered, too
  await answering(ada, true);
  await ada.goto(`${gateway.url}/dashboard/login?next=/dashboard/account`, { waitUntil: "commit" });
  await arrives(ada, "/dashboard/account");
  await sees(ada, "one-way");
  await look(ada, "account-one-way");
  for (const [name, path] of [["logout", "/dashboard/logout"], ["leave", `/dashboard/account/leave/${tenant.tenant_id}`]]) {
    await ada.goto(gateway.url + path);
    await look(ada, name);
  }
  ada.kept();
});

test("a device without a passkey is told the other ways to log in", async () => {
  const stranger = await person({ hosts: ["127.0.0.1"] });
  await stranger.goto(`${gateway.url}/dashboard/login`);
  assert.equal(await part(stranger, "lost").getAttribute("open"), null);
  await part(stranger, "passkey").click();
  await stranger.getByRole("alert").filter({ hasText: "No passkey for this gateway was found on this device" }).waitFor();
  await part(stranger, "lost").getByText("ask whoever operates this gateway").waitFor();
  await look(stranger, "login-none");
  stranger.kept();
});

test("guessing locks no passkey out", async () => {
  const guess = (password) => fetch(`${gateway.url}/dashboard/login`, {
    method: "POST", redirect: "manual", body: new URLSearchParams({ email: "ada@shop.example", password }),
    headers: { Origin: gateway.url },
  });
  let status = 422;
  for (let i = 0; status === 422 && i < 40; i++) ({ status } = await guess(`guess number ${i}`));
  assert.equal(status, 429);
  await answering(ada, false);
  await logOut(ada);
  await ada.goto("about:blank"); // whose suggestion could be answered, too
  await answering(ada, true);
  await ada.goto(`${gateway.url}/dashboard/login`, { waitUntil: "commit" }); // the suggested passkey is answered at once
  await arrives(ada, home());
  await ada.goto(`${gateway.url}/dashboard/account`);
  ada.kept();
});

test("a page of the dashboard shows in no frame", async () => {
  const other = await person();
  await other.goto("data:text/html,<title>Another site</title>");
  for (const [src, shows] of [
    ["data:text/html,<h1>agegate</h1>", true], [`${gateway.url}/dashboard/login`, false], [`${gateway.url}/operator`, false], [`${gateway.url}/dashboard/nothing`, false],
  ]) {
    await other.evaluate((src) => new Promise((resolve) => {
      const frame = document.createElement("iframe");
      frame.onload = resolve;
      frame.src = src;
      document.body.append(frame);
    }), src);
    assert.equal((await other.frames().at(-1).content()).includes("agegate"), shows, src);
  }
  await other.context().close();
});

test("a second passkey, named, and removed again; the last one stays", async () => {
  await leads(ada, part(ada, "add-passkey"));
  await look(ada, "passkey-new");
  // The same device refuses: it has one for this account.
  await fill(ada, { name: "<b>Key</b>" });
  await part(ada, "passkey").click();
  await ada.getByRole("alert").filter({ hasText: "The device did not create a passkey" }).waitFor();
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
  await asks(ada, rows.first().getByRole("link"));
  await look(ada, "passkey-remove");
  await confirms(ada);
  assert.equal(await rows.count(), 1);
  assert.equal(await rows.first().getByRole("link").count(), 0); // it is the only way in
  ada.kept();
});

let invitation;
test("an owner invites; the link is shown once", async () => {
  await ada.goto(`${gateway.url}/dashboard/${tenant.tenant_id}/team`);
  await look(ada, "team-alone");
  await part(ada, "inviting").click();
  await look(ada, "team-inviting");
  await ada.locator("select").selectOption("viewer");
  await fill(ada, { note: "<b>Bob</b> of the shop" });
  await part(ada, "confirm").click();
  invitation = await ada.locator(".shown code").textContent();
  await look(ada, "team-invited");
  await ada.goto(`${gateway.url}/dashboard/${tenant.tenant_id}/team`);
  assert.ok(!(await ada.content()).includes(invitation.split("/").at(-1)));
  await part(ada, "invitation").getByText("<b>Bob</b> of the shop", { exact: true }).first().waitFor();
  await look(ada, "team-invitations");
  await asks(ada, part(ada, "revoke"));
  await look(ada, "revoke"); // and not done
  ada.kept();
});

let secret, codes;
test("password, app and recovery code, all without JavaScript", async () => {
  const bob = await person({ javaScriptEnabled: false });
  await bob.goto(invitation);
  await fill(bob, { email: "bob", password: "short" });
  await part(bob, "set-up").click(); // without a script the browser does not check the form
  assert.deepEqual(await faults(bob), ["#f-name", "#f-email", "#f-password"]);
  await fill(bob, { name: "Bob <script>alert(1)</script>", email: "bob@shop.example", password: "short" });
  await part(bob, "set-up").click();
  await bob.getByText("needs at least 12 characters").first().waitFor();
  await fill(bob, { password: passphrase });
  await part(bob, "set-up").click();
  await arrives(bob, home());
  await part(bob, "open-live").click();
  await part(bob, "add-factor").click();
  await sees(bob, "weak");
  await part(bob, "set-up-totp").click();
  await part(bob, "confirm").click();
  const picture = part(bob, "totp-picture");
  await picture.waitFor();
  secret = await bob.locator('[data-testid="totp-secret"] code').textContent();
  assert.match(secret, /^([A-Z2-7]{4} ){7}[A-Z2-7]{4}$/);
  assert.equal(new URL(await part(bob, "totp-app").getAttribute("href")).searchParams.get("secret"), secret.replaceAll(" ", ""));
  await fill(bob, { code: appCode(secret) });
  await part(bob, "add-totp").click();
  await sees(bob, "codes");
  codes = await bob.locator('[data-testid="codes"] code').allTextContents();
  assert.equal(codes.length, 10);
  await part(bob, "kept").click();
  await arrives(bob, `/dashboard/${tenant.tenant_id}/live`);

  for (const [code, opens] of [[() => codes[0], true], [() => codes[0], false], [() => appCode(secret, 1), true]]) {
    const again = await person({ javaScriptEnabled: false });
    await again.goto(`${gateway.url}/dashboard/login`);
    await fill(again, { email: "bob@shop.example", password: passphrase });
    await part(again, "log-in").click();
    await again.locator('[name="code"]').waitFor();
    await fill(again, { code: code() });
    await part(again, "log-in").click();
    if (opens) await arrives(again, home());
    else {
      await again.getByText("wrong or was already used").waitFor();
      await part(again, "lost").locator("summary").click();
      await part(again, "lost").getByText("ask whoever operates this gateway").waitFor();
    }
    await again.context().close();
  }
  await bob.goto(`${gateway.url}/dashboard/account`);
  await part(bob, "end-login").first().click();
  await bob.getByText("The log-in has ended.").waitFor();
  assert.equal(await part(bob, "end-login").count(), 1);
  await bob.goto(`${gateway.url}/dashboard/account/password`);
  await fill(bob, { password: passphrase });
  await part(bob, "set-password").dblclick(); // sends the form twice
  await bob.getByText("The password is set;").waitFor();
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
  for (const [width, display] of [[768, "table"], [740, "block"]]) {
    await ada.setViewportSize({ width, height: 1024 });
    assert.equal(await ada.locator("main table").first().evaluate((table) => getComputedStyle(table).display), display);
  }
  await leads(ada, bob.getByRole("link"));
  await look(ada, "member");
  await ada.locator("select").selectOption("developer");
  await part(ada, "set-role").click();
  await bob.filter({ hasText: "Developer" }).waitFor();
  await bob.getByRole("link").click();
  await asks(ada, part(ada, "remove-member"));
  await look(ada, "member-remove");
  await confirms(ada);
  assert.equal(await bob.count(), 0);
  await ada.locator('[data-testid="member"]').getByRole("link").click();
  await ada.getByText("Make another member an owner first").waitFor(); // before anything is asked
  assert.equal(await part(ada, "set-role").count(), 0);
  ada.kept();

  const gone = await person();
  await gone.goto(`${gateway.url}/dashboard/login`);
  await fill(gone, { email: "bob@shop.example", password: passphrase });
  await part(gone, "log-in").click();
  await fill(gone, { code: codes[1] });
  await part(gone, "log-in").click();
  await arrives(gone, "/dashboard");
  await look(gone, "home-empty");
  gone.kept();
  await gone.context().close();
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

test("staff log in by the instance's identity provider", async () => {
  const provider = await startProvider();
  const office = await startGateway({
    AGEGATE_OIDC_ISSUER: provider.url, AGEGATE_OIDC_CLIENT_ID: "gate", AGEGATE_OIDC_CLIENT_SECRET: provider.secret,
    AGEGATE_OIDC_NAME: "Shop ID", AGEGATE_OIDC_ROLES: "people=operator",
  });
  try {
    const grace = await person({ hosts: ["127.0.0.1"] }); // the provider's
    const logIn = async (group) => {
      await grace.goto(`${office.url}/dashboard/login?next=//evil.example/`);
      await leads(grace, part(grace, "sso"));
      await grace.getByLabel("Group").fill(group);
      await leads(grace, grace.getByRole("button"));
    };
    await logIn("strangers");
    await arrives(grace, "/dashboard/login");
    await sees(grace, "notice");
    await look(grace, "sso-no-group");
    await logIn("people");
    await grace.goto(`${office.url}/dashboard/account`);
    await part(grace, "managed").waitFor();
    await look(grace, "account-managed");
    await grace.goto(`${office.url}/operator/users`);
    await part(grace, "user").getByText("127.0.0.1").waitFor(); // the provider's host
    await grace.context().clearCookies({ name: /agegate-user$/ });
    await grace.goto(`${office.url}/dashboard/login`);
    await look(grace, "login-sso");
    grace.kept();
  } finally {
    await office.stop();
    await provider.stop();
  }
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
  await leads(ada, part(ada, "set-up-totp"));
  await look(ada, "totp-begin");
  await part(ada, "confirm").click();
  await part(ada, "totp-picture").waitFor();
  assert.ok(await part(ada, "totp-picture").evaluate((picture) => picture.decode().then(() => picture.naturalWidth > 0)));
  await look(ada, "totp");
  await fill(ada, { code: appCode(await ada.locator('[data-testid="totp-secret"] code').textContent()) });
  await part(ada, "add-totp").click();
  await sees(ada, "codes");
  await look(ada, "codes");
  await leads(ada, part(ada, "kept"));
  await look(ada, "account-full");
  for (const [name, path] of [["totp-remove", "totp/remove"], ["codes-new", "codes"]]) {
    await ada.goto(`${gateway.url}/dashboard/account/${path}`);
    await look(ada, name);
  }
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

test("no secret is in the log", async () => {
  for (const secret of [passphrase, invitation.split("/").at(-1)]) assert.ok(!gateway.log.includes(secret));
});

test("every page was looked at", () => sawItsPages(import.meta.url));
