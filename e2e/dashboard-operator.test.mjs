// The operator's console: a tenant is made, limited, looked into and disabled;
// every page fits and is accessible.
// E2E_SHOTS=DIR writes a picture of every page, in both sizes and themes.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isAccessible } from "./lib/axe.mjs";
import { launch, visitor } from "./lib/browser.mjs";
import { root, startGateway } from "./lib/gateway.mjs";
import { fitsWidth, part, sees } from "./lib/walk.mjs";

const shots = process.env.E2E_SHOTS;
let gateway, browser, page;
before(async () => {
  gateway = await startGateway();
  browser = await launch();
  if (shots) mkdirSync(shots, { recursive: true });
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
});

async function look(name) {
  for (const size of [{ width: 360, height: 740 }, { width: 1440, height: 900 }]) {
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

const fill = async (values) => {
  for (const [name, value] of Object.entries(values)) await page.locator(`[name="${name}"]:visible`).fill(value);
};
const arrives = (path) => page.waitForURL((url) => url.pathname === path);

test("an operator makes a tenant, looks into it and disables it", async () => {
  page = await visitor(browser, { broken: /status of (403|404|422)/, camera: false, viewport: { width: 1440, height: 900 } });
  const device = await page.context().newCDPSession(page);
  await device.send("WebAuthn.enable");
  await device.send("WebAuthn.addVirtualAuthenticator", {
    options: { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
  });
  const agegate = process.env.AGEGATE_BIN ?? join(root, "bin/agegate");
  await page.goto(execFileSync(agegate, ["user", "setup-link"], { env: gateway.env, encoding: "utf8" }).trim());
  await fill({ name: "Ada", email: "ada@gate.example" });
  await part(page, "passkey").click();
  await arrives("/operator");
  await look("operator");

  await part(page, "new-tenant").click();
  await look("operator-new");
  await part(page, "create").click();
  await sees(page, "summary");
  await look("operator-new-wrong");
  await fill({ name: "Wein & Mehr GmbH, Zweigniederlassung Süd" });
  await part(page, "create").click();
  await sees(page, "made-link");
  await look("operator-link");

  await page.goto(`${gateway.url}/operator?q=wein`);
  await part(page, "tenant-link").click();
  await look("operator-tenant");
  const tenant = new URL(page.url()).pathname;
  await part(page, "act-credit").click();
  await fill({ units: "500", note: "Invoice 2026-117" });
  await part(page, "confirm").click();
  await arrives(tenant);
  assert.equal((await part(page, "credit").textContent()).trim(), "500");
  await part(page, "act-limits").click();
  await look("operator-limits");
  await fill({ test_cap: "many" });
  await part(page, "confirm").click();
  await sees(page, "summary");
  await fill({ test_cap: "20" });
  await part(page, "confirm").click();
  await arrives(tenant);

  await part(page, "act-enter").click();
  await fill({ reason: "Ticket 4711: no webhook arrives" });
  await part(page, "confirm").click();
  await sees(page, "entered");
  await look("operator-inside");
  await part(page, "leave").click();
  await arrives("/operator");
  await page.goto(gateway.url + tenant);
  await part(page, "act-disable").click();
  await look("operator-disable");
  await fill({ reason: "Unpaid" });
  await part(page, "confirm").click();
  await arrives(tenant);
  await sees(page, "act-enable");
});

test("users, system and the log of the instance are shown", async () => {
  for (const path of ["users", "system", "audit"]) {
    await page.goto(`${gateway.url}/operator/${path}`);
    await look(`operator-${path}`);
  }
  await page.goto(`${gateway.url}/operator?q=nobody-has-this-name`);
  await look("operator-no-match");
});
