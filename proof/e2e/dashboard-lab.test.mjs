// The threshold lab: the figures of the shipped estimator, by a form that needs
// no script and a chart whose numbers are in a table.
// E2E_SHOTS=DIR writes a picture of every state, in both sizes and themes.
import assert from "node:assert/strict";
import { launch } from "./lib/browser.mjs";
import { startGateway } from "./lib/gateway.mjs";
import { after, before, test } from "./lib/row.mjs";
import { agegate, fill, look, person, sawItsPages } from "./lib/staff.mjs";
import { part } from "./lib/walk.mjs";

let gateway, browser, page;
before(async () => {
  gateway = await startGateway({ AGEGATE_AGE_MARGIN: "7" });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
});

test("an operator sees who passes at which margin", async () => {
  page = await person(browser);
  await page.goto(agegate(gateway, "user", "setup-link"));
  await fill(page, { name: "Ada", email: "ada@gate.example" });
  await part(page, "passkey").click();
  await page.waitForURL((url) => url.pathname === "/operator");

  await page.goto(`${gateway.url}/operator/lab`);
  assert.match(await page.locator("main").textContent(), /In force is a margin of 7 years/);
  assert.match(await page.locator("main").textContent(), /AGEGATE_AGE_MARGIN=7/);
  await look(page, "lab");
  await page.locator("#f-margin").focus();
  for (const key of ["ArrowRight", "ArrowRight", "ArrowRight"]) await page.keyboard.press(key);
  await part(page, "show").click();
  await page.waitForURL((url) => url.searchParams.get("margin") === "10");
  assert.match(await page.locator("main").textContent(), /AGEGATE_AGE_MARGIN=10/);
  await page.locator("summary").click();
  await look(page, "lab-table");
  await page.locator('tbody a[href$="margin=3"]').click();
  await page.waitForURL((url) => url.searchParams.get("margin") === "3");
  await page.locator("#f-target").fill("99");
  await part(page, "show").click();
  assert.match(await page.locator("#p-target").textContent(), /from 13 to 60/);
  await look(page, "lab-wrong");
});

test("the page was looked at", () => sawItsPages(import.meta.url));
