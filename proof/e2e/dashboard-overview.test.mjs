// From nothing to a verified test session whose webhook was answered, and the
// pages about sessions: fit for everybody at both widths, in both themes.
// E2E_SHOTS=DIR writes a picture of every page, in both sizes and themes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isAccessible, rulesOf } from "./lib/axe.mjs";
import { anotherTab, launch, visitor } from "./lib/browser.mjs";
import { eventually, startGateway } from "./lib/gateway.mjs";
import { after, before, test } from "./lib/row.mjs";
import { asks, confirms, fill, look, person, sawItsPages } from "./lib/staff.mjs";
import { leads, part, sees } from "./lib/walk.mjs";

let gateway, browser;
before(async () => {
  gateway = await startGateway({ AGEGATE_ESTIMATOR: "off" }, { terminal: true });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
});

/** How the sessions end that the lists are read with, orders 1042 and on; one stays open. */
const outcomes = ["verified", "verified", "fallback", "verified", "verified", "spoof", "verified", "verified", "fallback", "verified", "", "verified"];

/** Makes sessions of orders, 1042 and on, as the sample shop and its shoppers would. */
async function someSessions(outcomes, prefix = "") {
  const { api_key } = JSON.parse(readFileSync(join(gateway.data, "demo-shop.json"), "utf8"));
  for (const [i, outcome] of outcomes.entries()) {
    const response = await fetch(`${gateway.url}/api/v1/sessions/create`, {
      method: "POST",
      headers: { "X-API-Key": api_key, "Content-Type": "application/json" },
      body: JSON.stringify({ target_age: 18, success_url: `${gateway.shop}/thanks?order=${prefix}${1042 + i}` }),
    });
    const { verification_url } = await response.json();
    const opened = outcome ? `${verification_url}?force=${outcome}` : verification_url;
    await fetch(opened, { redirect: "manual" });
    if (outcome === "fallback") await fetch(opened, { redirect: "manual" }); // the first offers a document
  }
}

/** Counts what somebody does on a page: clicks, and fields filled in. */
async function counted(page) {
  const acts = { click: 0, input: new Set() };
  await page.exposeBinding("acted", (_, kind, field) => (kind === "click" ? acts.click++ : acts.input.add(field)));
  await page.addInitScript(() => {
    addEventListener("click", (event) => event.isTrusted && window.acted("click"), true);
    addEventListener("input", (event) => window.acted("input", event.target.name), true);
  });
  return acts;
}

/** Walks along the chart, by keys and with the pointer: it says what the table below says. */
async function tellsItsNumbers(page) {
  const at = (point) => page.locator(`[role="slider"][aria-valuenow="${point}"]`);
  const rows = await page.locator("details tbody tr").evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  const told = page.locator(".told:visible");
  const says = async (row) => {
    for (const text of [await told.textContent(), await at(row).getAttribute("aria-valuetext")]) {
      for (const number of rows[row]) assert.ok(text.includes(number), `${text} without ${number}`);
    }
  };
  await at(23).focus(); // the newest of 24 hours
  await told.waitFor();
  await says(23);
  await page.keyboard.press("ArrowLeft");
  await at(22).waitFor();
  await says(22);
  await page.keyboard.press("Home");
  await at(0).waitFor();
  await page.evaluate(() => scrollTo(0, 0)); // the focus scrolls on a phone, and the bar covers half of the heading
  await look(page, "overview-chart");
  await page.keyboard.press("Escape");
  await told.waitFor({ state: "hidden" });
  await at(0).blur();
  const { width } = await page.locator(".bars").boundingBox();
  await page.locator(".bars").hover({ position: { x: width - 2, y: 20 } });
  await at(23).waitFor();
  await says(23);
  await page.getByRole("heading", { level: 1 }).hover();
  await told.waitFor({ state: "hidden" });
}

/** The filters of the list fold on a phone, and say how many of them are active. */
async function filtersFold(page) {
  await page.goto(`${page.url().split("?")[0]}?age=18&status=PASSED`);
  await look(page, "sessions-filtered");
  const [age, fold] = [page.locator("[name=age]"), part(page, "filters").locator("summary")];
  assert.ok(await age.isVisible(), "filters on a wide screen");
  assert.ok(await fold.isHidden(), "nothing to unfold on a wide screen");
  for (const width of [360, 390]) {
    await page.setViewportSize({ width, height: 740 });
    assert.ok(await age.isHidden(), `filters fold at ${width} px`);
    assert.equal(await fold.textContent(), "Filters 2 active");
    await fold.press("Enter");
    await look(page, "sessions-unfolded"); // at 1440 px in the end
    await page.setViewportSize({ width, height: 740 });
    await age.fill("99");
    await age.press("Enter");
    await page.waitForURL(/age=99/);
    await page.goBack();
    if (await age.isVisible()) await fold.press("Enter");
  }
  await page.setViewportSize({ width: 1440, height: 900 });
}

/** From 1024 px on, the filters and their buttons are one row. */
async function filtersAreARow(page) {
  const at = page.url().split("?")[0];
  for (const [query, width] of ["lang=en", "lang=de&age=18&status=PASSED&from=2026-01-01&to=2099-12-31"].flatMap((query) => [1024, 1440].map((width) => [query, width]))) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(`${at}?${query}`);
    const edges = await page.locator(".asked :is(input, select, .button):visible").evaluateAll((all) => all.map((one) => one.getBoundingClientRect()).map(({ top, left, right }) => ({ top, left, right })));
    for (const [i, { top, left }] of edges.entries()) {
      assert.ok(Math.abs(top - edges[0].top) < 2 && (!i || left > edges[i - 1].right), `${query} at ${width} px: ${JSON.stringify(edges)}`);
    }
  }
  await page.goto(`${at}?lang=en`);
}

/** A row has the order, the end of the ID, "18+" and how long ago, with the exact time at a hover. */
async function listFitsAPhone(page) {
  const row = page.locator("tbody tr", { hasText: "1052" }); // an open session
  await page.waitForFunction(() => /ago|now/.test(document.querySelector("time[data-ago]").textContent)); // a tab behind others is late
  const [time, id] = [row.locator("time"), await part(row, "session").getAttribute("title")];
  assert.equal(await row.locator("code").textContent(), id, "read aloud whole");
  const rest = `1052\\s+${id.slice(0, -8)}\\s*${id.slice(-8)}\\s+Open\\s+18\\+\\s+No result\\s+`;
  assert.match(await row.innerText(), new RegExp(`^\\s*${rest}(\\d+ \\w+ ago|now)\\s*$`));
  const exact = await time.getAttribute("title");
  assert.match(exact, /^\w+ \d+, \d{4}, \d{1,2}:\d{2}:\d{2} [AP]M UTC$/);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.waitForFunction(() => /ago|now/.test(document.querySelector("time[data-ago]").textContent));
  const phone = await row.innerText();
  assert.match(phone, new RegExp(`^\\s*${rest}(\\d+ \\w+ ago|now)\\s*$`));
  assert.equal(await time.getAttribute("title"), exact);
  await row.click({ position: { x: 200, y: 40 } });
  await page.waitForURL(new RegExp(id));
  await page.goBack();
  await page.setViewportSize({ width: 1440, height: 900 });
}

/** By the page's own clock, a result that comes from another device shows within two seconds. */
async function tellsAtOnce(page) {
  await part(page, "nav-playground").click();
  await part(page, "create").click();
  await part(page, "force-verified").waitFor();
  await page.clock.install();
  await page.reload();
  await page.clock.pauseAt(Date.now() + 60_000);
  const phone = await visitor(browser, { hosts: [gateway.shop], camera: false });
  await phone.goto(await part(page, "force-verified").getAttribute("href"));
  await phone.waitForURL(`${gateway.shop}/thanks**`);
  await phone.context().close();
  await page.clock.runFor(2_000);
  await part(page, "moment-result").waitFor();
  await page.clock.resume();
}

test("from the printed link to a webhook that was answered", async () => {
  const page = await person(browser);
  const acts = await counted(page);
  const setup = await gateway.printed(/Set up the dashboard.*?(http\S+)/);
  await page.goto(setup); // 1
  await fill(page, { name: "Ada", email: "ada@shop.example" });
  await part(page, "passkey").click(); // 2
  await part(page, "make-session").first().waitFor();
  await page.waitForLoadState("domcontentloaded");
  const own = ["passed", "fallback", "spoof", "webhook_answered", "live_key"]; // what the demo has not done for anybody
  for (const name of ["success_url", "cancel_url", "https", ...own]) assert.ok(await part(page, `todo-${name}`).isVisible(), `${name} is done`);
  assert.equal(await part(page, "make-session").count(), 1, "one way to the first session");
  await look(page, "overview-empty");
  await page.setViewportSize({ width: 360, height: 740 });
  assert.equal(await page.locator(".tile, .modes.windows").count(), 0, "figures before the first check");
  assert.ok((await part(page, "make-session").boundingBox()).height < 50, "the button has two lines");
  await page.setViewportSize({ width: 1440, height: 900 });
  await someSessions(outcomes);
  await eventually("the figures are computed again", async () => {
    await page.reload();
    return page.locator(".tiles").count();
  });
  assert.equal(await part(page, "session").count(), 10, "the newest sessions");
  await look(page, "overview");
  await tellsItsNumbers(page);

  await part(page, "make-session").first().click(); // 3
  await part(page, "force-verified").waitFor();
  await look(page, "playground-session");
  const opened = page.context().waitForEvent("page");
  await part(page, "force-verified").click(); // 4
  await (await opened).waitForURL(`${gateway.shop}/thanks**`);
  await (await opened).close();
  await page.getByText(/^Webhook answered 200 in [1-9]/).waitFor(); // without a reload
  await part(page, "force-verified").waitFor({ state: "hidden" }); // although the focus is on it
  await page.locator(".ended").waitFor();
  await look(page, "playground-ended");
  assert.deepEqual([1 + acts.click, [...acts.input]], [4, ["name", "email"]], "clicks, the printed link among them, and fields");

  const details = await anotherTab(page);
  await details.goto(page.url().replace("/playground/", "/sessions/"));
  await details.getByText(/^Webhook answered 200 in/).waitFor();
  await look(details, "session");
  await details.setViewportSize({ width: 1280, height: 900 });
  assert.ok(await details.locator(".facts dd time").evaluate((time) => {
    time.textContent = "Nov 30, 2026, 12:57:48 PM GMT+5:30"; // as in India
    return time.offsetWidth <= time.parentElement.clientWidth;
  }), "a time is wider than its cell");
  assert.match(await part(details, "tell").textContent(), /no shopper waits/);
  assert.equal(await part(details, "reply").count(), 1); // that of a real check, for practice
  const forced = details.url();
  await details.goto(forced.replace(/\/[^/]+$/, "?status=PENDING"));
  await leads(details, part(details, "session").first());
  assert.equal(await part(details, "delete").count(), 0, "an open session is not deleted");
  await part(details, "reply").locator("summary").first().click();
  await part(details, "reply").getByText("Deutsch").click(); // one language at a time
  await part(details, "reply").getByText("Español").click();
  await part(details, "reply").getByText("Ihre Altersprüfung ist noch offen").waitFor({ state: "hidden" });
  await part(details, "reply").getByText("Deutsch").click();
  await part(details, "reply").getByText("Ihre Altersprüfung ist noch offen").waitFor();
  await details.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await part(details, "copy-reply").click();
  await part(details, "copy-reply").getByText("Copied").waitFor(); // the clipboard answers later
  assert.match(await part(details, "copy-reply").textContent(), /Copy reply\s+Copied/);
  assert.equal(await details.evaluate(() => navigator.clipboard.readText()), await part(details, "tell").locator("bdi").textContent());
  await look(details, "session-reply");
  await details.goto(forced);
  const link = part(details, "expire-redirect");
  assert.ok(await link.isHidden(), "a rare act is folded away");
  await part(details, "more").click();
  for (const width of [360, 1440]) {
    await details.setViewportSize({ width, height: 900 });
    const { x, width: wide } = await link.boundingBox();
    assert.ok(x >= 0 && x + wide <= width, `the menu is in the window at ${width} px`);
  }
  const dialog = details.getByRole("dialog", { name: "Let the next redirect expire?" });
  for (const cancel of [() => details.keyboard.press("Escape"), () => dialog.getByText("Cancel").click()]) {
    await asks(details, link);
    await dialog.waitFor();
    await details.locator("dialog a:focus", { hasText: "Cancel" }).waitFor(); // so that Enter is not the act
    await cancel();
    await dialog.waitFor({ state: "detached" });
    await details.locator('[data-testid="expire-redirect"]:focus').waitFor();
  }
  await asks(details, link);
  await look(details, "session-dialog");
  await confirms(details);
  details.kept();
  const delivery = await part(details, "delivery-link").first().getAttribute("href");
  for (const [path, name] of [[`${details.url()}/expire`, "expire"], [`${details.url()}/expire-redirect`, "expire-redirect"], [`${gateway.url}${delivery}/retry`, "retry"]]) {
    await page.goto(path);
    await part(page, "confirm").waitFor();
    await look(page, name);
  }
  await page.goto(`${details.url()}/delete`);
  await part(page, "confirm").or(part(page, "passkey")).waitFor();
  if (await part(page, "passkey").count()) await part(page, "passkey").click(); // the log-in was too long ago
  await part(page, "confirm").waitFor();
  await look(page, "session-delete");
  page.kept();

  await part(page, "nav-overview").click();
  await sees(page, "checklist");
  for (const name of ["passed", "webhook_answered"]) assert.equal(await part(page, `todo-${name}`).count(), 0, `${name} is still to be done`);
  await part(page, "nav-sessions").or(part(page, "nav-playground")).first().waitFor();
  await part(page, "nav-sessions").click();
  await sees(page, "filters");
  assert.equal(await part(page, "session").count(), 13);
  await look(page, "sessions");
  await listFitsAPhone(page);
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
  await filtersFold(page);
  await filtersAreARow(page);
  await tellsAtOnce(page);

  await part(page, "nav-playground").click();
  await page.locator("[name=success_url]").fill("https://elsewhere.example/done");
  await part(page, "create").click();
  await page.locator("#p-success_url").waitFor();
  assert.equal(await page.locator("[name=success_url]").inputValue(), "https://elsewhere.example/done");
  await look(page, "playground-refused");
});

test("the keys / and Ctrl-K lead to one search over both modes, at every width", async () => {
  const page = await person(browser);
  await page.goto(/http\S+/.exec(gateway.command("user", "recover", "ada@shop.example"))[0]);
  await part(page, "passkey").click();
  await part(page, "make-session").first().waitFor();
  const field = page.locator("[data-find]");
  for (const [keys, width] of [["/", 1440], ["Control+k", 1440], ["Control+k", 390]]) {
    await page.setViewportSize({ width, height: 844 });
    await page.goto(page.url());
    await page.keyboard.press(keys);
    const focused = page.locator("[data-find]:focus");
    await focused.waitFor();
    await page.keyboard.type("no such thing/");
    assert.equal(await focused.inputValue(), "no such thing/", "a slash is text in a field");
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  for (const text of ["1044", "#1044", "order 1044"]) {
    await field.fill(text);
    await field.press("Enter");
    await page.getByRole("heading", { level: 1, name: /Order 1044/ }).waitFor();
    await part(page, "nav-sessions").click();
    await sees(page, "filters");
  }
  await look(page, "sessions-orders");
  await showsWhileTyping(page, field);
  await field.fill("in");
  await field.press("Enter");
  await sees(page, "hits");
  await look(page, "lookup-hits");
  await part(page, "hits").locator("a[href^='/']").first().click();
  await page.waitForURL((url) => !url.pathname.endsWith("/paste"));
  await page.goBack();
  await sees(page, "hits");
  page.kept();
});

/** What the search finds is shown below it while one types, and is left with the keyboard alone. */
async function showsWhileTyping(page, field) {
  const found = part(page, "found").first();
  const posted = [];
  page.on("request", (request) => posted.push(request.url()));
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 844 });
    await page.goto(page.url());
    const at = page.url();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("104");
    await found.getByRole("status").getByText(/^\d+ matches$/).waitFor();
    assert.ok(await part(found, "hit").filter({ hasText: "Order 1044" }).isVisible());
    for (const colorScheme of width === 1440 ? ["light", "dark"] : []) { // axe measures nothing below the list on a phone
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await isAccessible(page, `typing, ${colorScheme}`, rulesOf(colorScheme));
    }
    const lines = await part(found, "hit").first().evaluate((link) => link.parentElement.clientHeight / link.nextElementSibling.clientHeight);
    assert.ok(lines < 3.5, `a hit is as high as ${lines} lines`);
    const box = await found.boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= width, "the list is in the window");
    await page.keyboard.press("ArrowDown");
    await found.locator("a:focus").waitFor();
    await page.keyboard.press("ArrowUp");
    const focused = page.locator("[data-find]:focus");
    await focused.fill("qzxwv xqzvw");
    await found.getByText("Nothing found").waitFor();
    await focused.fill("");
    await page.locator("[data-find]:focus ~ .found p:empty").waitFor({ state: "attached" });
    assert.equal(page.url(), at);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  await page.locator(".menu-button").click();
  assert.equal(await page.locator("[data-find]:visible").count(), 1, "a phone's page offers one search");
  await page.keyboard.press("Escape");
  assert.ok(!posted.some((address) => /104|nobody/.test(address)), "no address has the text");
  await page.setViewportSize({ width: 1440, height: 900 });
  await field.fill("1044");
  await part(found, "hit").click();
  await page.getByRole("heading", { level: 1, name: /Order 1044/ }).waitFor();
}

test("at 360 px, in German, every row of a list stays in its card and breaks no order where a webhook was not accepted", async () => {
  const page = await person(browser);
  await page.goto(/http\S+/.exec(gateway.command("user", "recover", "ada@shop.example"))[0]);
  await part(page, "passkey").click();
  await part(page, "make-session").first().waitFor();
  const shop = page.url().split("?")[0];
  gateway.command("tenant", "set", /dashboard\/([^/]+)/.exec(shop)[1], "--webhook-url", `${gateway.shop}/nothing-here`);
  await someSessions(["verified", "fallback"], "WB-6fa457cf-7f6a-41ae-a636-");
  await page.setViewportSize({ width: 360, height: 740 });
  for (const path of ["/sessions", "", "/webhooks"]) {
    await eventually(`${path} lists them as not accepted`, async () => {
      await page.goto(`${shop}${path}?lang=de`);
      return (await page.locator("tr", { hasText: "WB-" }).filter({ hasText: /Webhook nicht angenommen|Wird wiederholt/ }).count()) === 2;
    });
    const out = await page.locator(".two-lines tbody tr").evaluateAll((rows) => rows.filter((row) => {
      const edge = row.parentElement.getBoundingClientRect().right;
      return row.querySelector("strong")?.getClientRects().length > 1 || [...row.querySelectorAll("td *")].some((each) => each.getBoundingClientRect().right > edge + 1);
    }).map((row) => row.textContent));
    assert.deepEqual(out, [], `rows of ${path} that leave their card`);
    await page.setViewportSize({ width: 1280, height: 740 });
    assert.deepEqual(await page.locator(".two-lines .id").evaluateAll((all) => all.map(({ offsetHeight }) => offsetHeight).filter((high) => high > 40)), [], `names of two lines in ${path}`);
    await page.setViewportSize({ width: 360, height: 740 });
  }
  page.kept();
});

test("every page was looked at", () => sawItsPages(import.meta.url));
