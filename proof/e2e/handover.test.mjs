// A desktop without a camera hands the check over to a phone, and follows it.
import assert from "node:assert/strict";
import { visitor } from "./lib/browser.mjs";
import { perform } from "./lib/camera.mjs";
import { test } from "./lib/row.mjs";
import { browser, gateway, tenant } from "./lib/shared.mjs";
import { gets, openCamera, part, sees, toCamera, toPrimer } from "./lib/walk.mjs";

const phoneSize = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

test("the phone makes the check, the desktop is redirected, the code works once", async () => {
  const session = await gateway.session(tenant, { age: 13 });
  const desktop = await visitor(browser);
  await perform(desktop, { refusal: "NotFoundError" });
  await toCamera(desktop, session.url);
  await sees(desktop, "screen-missing");
  await part(desktop, "use-phone").click();
  await sees(desktop, "handover-waiting");
  const lefts = await desktop.locator("#handover :is(h1, .lead, .qr, .compare, .compare strong, summary, .detail:not(:empty)):visible").evaluateAll((all) =>
    all.map((e) => {
      const range = document.createRange();
      range.selectNodeContents(e);
      return Math.round((e.matches(".qr, summary") ? e : range).getBoundingClientRect().left);
    }));
  assert.equal(new Set(lefts).size, 1, `everything begins at one edge: ${lefts}`);
  const code = await part(desktop, "code").innerText();
  const address = await desktop.locator('[data-testid="address"]').textContent();

  const phone = await visitor(browser, phoneSize);
  await perform(phone);
  await phone.goto(address);
  await sees(phone, "screen-phone");
  assert.equal(await part(phone, "code").innerText(), code);
  await part(phone, "codes-match").click();
  await sees(desktop, "handover-phone");

  const thief = await visitor(browser, { ...phoneSize, broken: /status of 410/ });
  assert.equal((await thief.goto(address)).status(), 410);
  await sees(thief, "notice-handover_gone");

  await openCamera(phone);
  await gets(phone, () => sees(phone, "notice-handover_done"));
  await desktop.waitForURL(`${gateway.shop}/?passed**`);
  assert.equal(await session.status(), "PASSED");
  for (const page of [desktop, phone, thief]) page.kept();
});

test("a new code ends the old one, and the desktop can change its mind", async () => {
  const session = await gateway.session(tenant, { age: 13 });
  const desktop = await visitor(browser);
  await toPrimer(desktop, session.url);
  await part(desktop, "use-phone").click();
  const old = await desktop.locator('[data-testid="address"]').textContent();
  await part(desktop, "camera-here").click();
  await part(desktop, "use-phone").click();
  await sees(desktop, "handover-waiting");
  const address = await desktop.locator('[data-testid="address"]').textContent();
  assert.notEqual(address, old);
  const phone = await visitor(browser, { ...phoneSize, broken: /status of 410/ });
  await phone.goto(old);
  await sees(phone, "notice-handover_gone");
  await phone.goto(address);
  await sees(phone, "screen-phone");
  desktop.kept();
  phone.kept();
});
