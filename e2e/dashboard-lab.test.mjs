// The threshold lab: the figures of the shipped estimator, by a form that needs
// no script and a chart whose numbers are in a table.
// E2E_SHOTS=DIR writes a picture of every state, in both sizes and themes.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isAccessible } from "./lib/axe.mjs";
import { launch, visitor } from "./lib/browser.mjs";
import { root, startGateway } from "./lib/gateway.mjs";
import { fitsWidth, part } from "./lib/walk.mjs";

const shots = process.env.E2E_SHOTS;
let gateway, browser, page;
before(async () => {
  gateway = await startGateway({ AGEGATE_AGE_MARGIN: "7" });
  browser = await launch();
  if (shots) mkdirSync(shots, { recursive: true });
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
});

async function look(name, themes = ["light", "dark"]) {
  for (const size of [{ width: 360, height: 740 }, { width: 1440, height: 900 }]) {
    for (const colorScheme of themes) {
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      if (shots) await page.screenshot({ path: join(shots, `${name}-${size.width}-${colorScheme}.png`), fullPage: true });
      await isAccessible(page);
      await fitsWidth(page);
    }
  }
}

test("an operator sees who passes at which margin", async () => {
  page = await visitor(browser, { broken: /status of 422/, camera: false, viewport: { width: 1440, height: 900 } });
  const device = await page.context().newCDPSession(page);
  await device.send("WebAuthn.enable");
  await device.send("WebAuthn.addVirtualAuthenticator", {
    options: { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
  });
  const agegate = process.env.AGEGATE_BIN ?? join(root, "bin/agegate");
  await page.goto(execFileSync(agegate, ["user", "setup-link"], { env: gateway.env, encoding: "utf8" }).trim());
  await page.locator('[name="name"]').fill("Ada");
  await page.locator('[name="email"]').fill("ada@gate.example");
  await part(page, "passkey").click();
  await page.waitForURL((url) => url.pathname === "/operator");

  await page.goto(`${gateway.url}/operator/lab`);
  assert.match(await page.locator("main").textContent(), /In force is a margin of 7 years/);
  assert.match(await page.locator("main").textContent(), /AGEGATE_AGE_MARGIN=7/);
  await look("lab");
  await page.locator("#f-margin").focus();
  for (const key of ["ArrowRight", "ArrowRight", "ArrowRight"]) await page.keyboard.press(key);
  await part(page, "show").click();
  await page.waitForURL((url) => url.searchParams.get("margin") === "10");
  assert.match(await page.locator("main").textContent(), /AGEGATE_AGE_MARGIN=10/);
  await page.locator("summary").click();
  await look("lab-table", ["light"]);
  await page.locator('tbody a[href$="margin=3"]').click();
  await page.waitForURL((url) => url.searchParams.get("margin") === "3");
  await page.locator("#f-target").fill("99");
  await part(page, "show").click();
  assert.match(await page.locator("#p-target").textContent(), /from 13 to 60/);
  await look("lab-wrong", ["light"]);
});
