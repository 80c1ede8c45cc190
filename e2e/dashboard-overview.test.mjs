// From nothing to a verified test session whose webhook was answered, and the
// pages about sessions: fit for everybody at both widths, in both themes.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isAccessible } from "./lib/axe.mjs";
import { anotherTab, launch, visitor } from "./lib/browser.mjs";
import { startGateway } from "./lib/gateway.mjs";
import { fitsWidth, part } from "./lib/walk.mjs";

const sizes = [{ width: 360, height: 740 }, { width: 1440, height: 900 }];

let gateway, browser;
before(async () => {
  gateway = await startGateway({ AGEGATE_ESTIMATOR: "off" }, { terminal: true });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
});

/** Checks a page by axe at both widths in both themes. */
async function look(page, name) {
  for (const size of sizes) {
    for (const colorScheme of ["light", "dark"]) {
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      // A bar that stays in view covers something just then.
      await isAccessible(page, `${name}, ${size.width} px, ${colorScheme}`, "partially obscured by another element");
      await fitsWidth(page);
    }
  }
  if (process.env.SCREENSHOTS) await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`), fullPage: true });
}

test("from the printed link to a webhook that was answered", async () => {
  const page = await visitor(browser, { camera: false, broken: /status of 422/ });
  const setup = await gateway.printed(/Set up the dashboard.*?(http\S+)/);
  await page.goto(setup); // 1
  await page.locator("[name=name]").fill("Ada");
  await page.locator("[name=email]").fill("ada@shop.example");
  await page.locator("details.other:not([open]) > summary").click(); // with a password, since this browser has no passkey
  await page.locator("[name=password]").fill("four owls under a blue moon");
  await part(page, "set-up").click(); // 2
  await part(page, "checklist").waitFor();
  assert.equal(await part(page, "session").count(), 10, "the demo's own sessions");
  await look(page, "overview");

  await part(page, "make-session").first().click(); // 3
  await part(page, "force-verified").waitFor();
  await look(page, "playground-session");
  const opened = page.context().waitForEvent("page");
  await part(page, "force-verified").click(); // 4
  await (await opened).waitForURL(`${gateway.shop}/thanks**`);
  await (await opened).close();
  await page.getByText(/^Webhook answered 200 in/).waitFor(); // without a reload

  const details = await anotherTab(page);
  await details.goto(page.url().replace("/playground/", "/sessions/"));
  await details.getByText(/^Webhook answered 200 in/).waitFor();
  await look(details, "session");
  details.kept();
  page.kept();

  await part(page, "nav-sessions").or(part(page, "nav-playground")).first().waitFor();
  await part(page, "nav-sessions").click();
  await part(page, "find").waitFor();
  assert.equal(await part(page, "session").count(), 13);
  await look(page, "sessions");
  for (const [status, count] of Object.entries({ SPOOF: 1, FALLBACK: 2, PENDING: 1, PASSED: 9 })) {
    await page.locator("[name=status]").selectOption(status);
    await part(page, "filter").click();
    await page.waitForURL(new RegExp(`status=${status}`));
    assert.equal(await part(page, "session").count(), count, status);
  }
  await page.goto(`${page.url().split("?")[0]}?age=7`);
  await look(page, "sessions-refused");
  await page.goto(`${page.url().split("?")[0]}?age=99`);
  await look(page, "sessions-none");

  await part(page, "nav-playground").click();
  await page.locator("[name=success_url]").fill("https://elsewhere.example/done");
  await part(page, "create").click();
  await page.locator("#p-success_url").waitFor();
  assert.equal(await page.locator("[name=success_url]").inputValue(), "https://elsewhere.example/done");
  await look(page, "playground-refused");
});
