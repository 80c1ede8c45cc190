// The reference at /docs and its guides: in view, in both sizes and themes, by
// keyboard, with and without a script.
// E2E_SHOTS=DIR writes a picture of every page, in both sizes and themes.
import assert from "node:assert/strict";
import { join } from "node:path";
import { isAccessible, rulesOf } from "./lib/axe.mjs";
import { launch, visitor } from "./lib/browser.mjs";
import { startGateway } from "./lib/gateway.mjs";
import { after, before, long, test } from "./lib/row.mjs";
import { fitsWidth, leads, part } from "./lib/walk.mjs";

const pages = [
  "/", "/docs", "/docs/reference", "/docs/integrate", "/docs/clients", "/docs/frameworks", "/docs/door", "/docs/wordpress", "/docs/verify-token", "/docs/verify-webhook", "/docs/localhost", "/docs/test-outcomes", "/docs/certify", "/docs/staging", "/docs/go-live", "/docs/laws",
  "/docs/privacy", "/docs/errors", "/docs/document", "/docs/support", "/docs/expect", "/docs/evidence", "/docs/operations", "/docs/one-shop", "/docs/compose", "/docs/install", "/docs/configure", "/docs/certificates", "/docs/tenants", "/docs/staff", "/docs/issuers", "/docs/back-up", "/docs/upgrade", "/docs/grow", "/docs/stored", "/docs/watch", "/docs/trouble", "/docs/compatibility", "/docs/changelog",
];
/** Pages that the navigation does not list: two that do not exist, and one in German. */
const unlisted = ["/nope", "/docs/webhooks", "/docs/support.de"];
/** The pages whose place and tables are looked at: all for a release, else every other one. */
const some = pages.filter((_, i) => long || i % 2 === 0);
const sizes = { 390: { width: 390, height: 844 }, 1440: { width: 1440, height: 900 } };
const shots = process.env.E2E_SHOTS;

let gateway, browser;
before(async () => {
  gateway = await startGateway({ AGEGATE_ESTIMATOR: "off" });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
});

for (const [name, viewport] of Object.entries(sizes)) {
  for (const colorScheme of long ? ["light", "dark"] : [name === "390" ? "light" : "dark"]) {
    test(`every page fits, is accessible and keeps its policy at ${name} px, ${colorScheme}`, async () => {
      const page = await visitor(browser, { viewport, colorScheme, camera: false, broken: /status of 404/ });
      for (const [i, path] of [...pages, ...unlisted].entries()) {
        if (!long && i % 4 !== (name === "390" ? 0 : 2)) continue; // a release has each page in both sizes
        await page.goto(gateway.url + path, { waitUntil: "load" });
        await fitsWidth(page);
        if (path === "/docs/reference") {
          const route = await page.locator(".route").first().boundingBox();
          assert.ok(route.y + route.height < viewport.height / 2, `the first operation ends at ${route.y + route.height} px`);
        }
        if (shots) await page.screenshot({ path: join(shots, `${path.slice(1).replaceAll("/", "-") || "start"}-${name}-${colorScheme}.png`) });
        await isAccessibleWhole(page, viewport, `${path} at ${name} px, ${colorScheme}`, rulesOf(colorScheme));
      }
      page.kept();
      await page.context().close();
    });
  }
}

test("no name of a variable and no outcome to append is cut in the table of them", async () => {
  const page = await visitor(browser, { camera: false });
  for (const [path, width] of ["configure", "test-outcomes"].flatMap((path) => [360, 660, 768, 1024, 1440].map((width) => [path, width]))) {
    await page.setViewportSize({ width, height: 800 });
    await page.goto(`${gateway.url}/docs/${path}`);
    const cut = await page.$$eval("td code", (all) => all.filter((e) => /^(AGEGATE_[A-Z_0-9]+|\?force=[a-z]+)$/.test(e.textContent) && e.getClientRects().length > 1).map((e) => e.textContent));
    assert.deepEqual(cut, [], `at ${width} px`);
    await fitsWidth(page);
  }
  page.kept();
  await page.context().close();
});

test("code and tables use the width of the window, and code is not wrapped", async () => {
  const page = await visitor(browser, { viewport: { width: 1280, height: 800 }, camera: false });
  const cut = (at) => page.locator(at).first().evaluate((e) => e.scrollWidth > e.clientWidth + 1);
  for (const path of ["/docs/tenants", "/docs/install", "/docs/certify"]) {
    await page.goto(gateway.url + path);
    const lines = await page.$$eval("pre", (all) => all.filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent));
    assert.deepEqual(lines, [], `commands are cut off at ${path}`);
  }
  await page.goto(`${gateway.url}/docs/laws`);
  assert.ok((await page.locator(".scroll").first().boundingBox()).width > 740, "the table of laws is squeezed");
  const [table, outline] = [await page.locator(".scroll").first().boundingBox(), await page.locator(".outline").boundingBox()];
  assert.ok(table.x + table.width <= outline.x, "the table lies below the list of the page's parts");
  const long = await page.$$eval(".prose > p", (all) => all.map((p) => {
    const lines = Math.round(p.offsetHeight / parseFloat(getComputedStyle(p).lineHeight));
    return lines > 3 ? p.textContent.length / lines : 70;
  }).filter((signs) => signs < 55 || signs > 80));
  assert.deepEqual(long, [], "a line of a paragraph has 55 to 80 characters");
  await page.goto(`${gateway.url}/docs/reference`);
  assert.equal(await cut('[data-language="curl"]'), false, "the first request is cut off");
  assert.equal(await page.locator(".shown pre").first().evaluate((e) => getComputedStyle(e).whiteSpace), "pre");
  page.kept();
  await page.context().close();
});

/** axe judges colours only of text in view, over which nothing lies such as the bar that stays. */
async function isAccessibleWhole(page, viewport, what, rules) {
  await page.evaluate(() => document.querySelectorAll(".scroll").forEach((table) => (table.style.overflow = "visible")));
  const height = await page.evaluate(() => Math.max(document.documentElement.scrollHeight, document.getElementById("contents").scrollHeight + 100));
  await page.setViewportSize({ width: viewport.width, height });
  await isAccessible(page, what, rules);
  await page.setViewportSize(viewport);
}

test("the entry of the page is in view in the navigation beside it", async () => {
  const page = await visitor(browser, { viewport: sizes[1440], camera: false });
  for (const path of some.filter((path) => path.startsWith("/docs/"))) {
    await page.goto(gateway.url + path, { waitUntil: "load" });
    const { y, height } = await page.locator('#contents [aria-current="page"]').boundingBox();
    assert.ok(y >= 0 && y + height <= sizes[1440].height, `${path}: the entry is at ${y} px`);
  }
  page.kept();
  await page.context().close();
});

test("on a phone the navigation shows the group of the page alone, and opens the others", async () => {
  const page = await visitor(browser, { viewport: { width: 360, height: 740 }, camera: false });
  for (const [path, open] of [["/docs/errors", ["Build"]], ["/docs/operations", ["Operate"]], ["/docs", []]]) {
    await page.goto(gateway.url + path, { waitUntil: "load" });
    await page.locator(".to-contents").click();
    assert.deepEqual(await page.locator("#contents details[open] summary").allInnerTexts(), open, path);
    assert.deepEqual(await page.locator("#contents summary").allInnerTexts(), ["Build", "Test", "Go live", "For support and data protection", "Operate"]);
  }
  await page.locator("#contents summary", { hasText: "Test" }).press("Enter");
  await page.locator("#contents a", { hasText: "Test every outcome" }).click();
  await page.waitForURL(`${gateway.url}/docs/test-outcomes`);
  await page.setViewportSize(sizes[1440]);
  await page.reload();
  assert.equal(await page.locator("#contents details[open]").count(), 5);
  page.kept();
  await page.context().close();
});

test("the field of the search names its key where there is room, until somebody types", async () => {
  const page = await visitor(browser, { viewport: { width: 360, height: 800 }, camera: false });
  await page.goto(`${gateway.url}/docs`, { waitUntil: "load" });
  const [field, key] = [page.locator("#search"), page.locator(".search kbd")];
  const room = await field.evaluate((input) => {
    const { font, paddingLeft, paddingRight } = getComputedStyle(input);
    const context = document.createElement("canvas").getContext("2d");
    context.font = font;
    return input.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) - context.measureText(input.placeholder).width;
  });
  assert.ok(room >= 0, `the placeholder is ${-room} px too wide`);
  assert.equal(await key.isVisible(), false);
  await page.setViewportSize(sizes[1440]);
  assert.equal(await key.isVisible(), true);
  await page.keyboard.press("/");
  assert.equal(await key.isVisible(), false);
  await field.fill("session");
  await field.blur();
  assert.equal(await key.isVisible(), false);
  page.kept();
  await page.context().close();
});

test("the first page, the documentation and the dashboard lead to each other", async () => {
  const page = await visitor(browser, { viewport: sizes[390], camera: false, hosts: [gateway.shop] });
  await page.goto(gateway.url);
  assert.match(await part(page, "first-steps").textContent(), /agegate user setup-link/);
  assert.equal((await page.content()).includes("/dashboard/link/"), false);
  await leads(page, part(page, "shop"));
  await page.waitForURL(`${gateway.shop}/`);
  await page.goto(gateway.url);
  await leads(page, part(page, "start-dashboard"));
  await page.waitForURL((url) => url.pathname === "/dashboard/login");
  assert.match(await part(page, "no-operator").textContent(), /agegate user setup-link/);
  await isAccessible(page, "the log-in before the first account");
  await fitsWidth(page);
  if (shots) await page.screenshot({ path: join(shots, "login-no-operator.png") });
  await page.goto(`${gateway.url}/docs`);
  await leads(page, page.locator(".groups a", { hasText: "API reference" }));
  await leads(page, part(page, "try"));
  await page.waitForURL((url) => url.pathname === "/dashboard/login" && url.searchParams.get("next") === "/dashboard/playground");
  await page.goto(`${gateway.url}/docs/integrate`);
  await leads(page, part(page, "to-dashboard"));
  await page.waitForURL((url) => url.pathname === "/dashboard/login");
  page.kept();
  await page.context().close();
});

test("a word is found by keyboard, and its heading shown", async () => {
  const page = await visitor(browser, { viewport: sizes[390], camera: false });
  await page.goto(`${gateway.url}/docs/go-live`, { waitUntil: "load" });
  const [field, options] = [page.getByRole("combobox"), page.getByRole("option")];
  for (const keys of ["/", "Control+k"]) {
    await field.blur();
    await page.keyboard.press(keys);
    await page.locator("#search:focus").waitFor();
    assert.equal(await field.inputValue(), "");
  }
  await field.pressSequentially("insuficient_credit"); // a letter is missing
  await options.first().waitFor();
  assert.match(await page.locator("#found-count").textContent(), /^\d+ results?\./);
  assert.equal(await field.getAttribute("aria-expanded"), "true");
  await page.keyboard.press("Escape");
  await page.locator("#found").waitFor({ state: "hidden" });
  assert.equal(await field.inputValue(), "insuficient_credit");
  await page.keyboard.press("ArrowDown"); // asks again
  await options.first().waitFor();
  await page.keyboard.press("ArrowUp"); // the last
  const last = options.last();
  assert.equal(await field.getAttribute("aria-activedescendant"), await last.getAttribute("id"));
  await page.keyboard.press("ArrowDown"); // back in the field
  await page.keyboard.press("ArrowDown");
  assert.deepEqual([await options.first().getAttribute("aria-selected"), await page.locator('[aria-selected="true"]').count()], ["true", 1]);
  for (const [name, viewport] of Object.entries(sizes)) {
    for (const colorScheme of ["light", "dark"]) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      if (shots) await page.screenshot({ path: join(shots, `search-list-${name}-${colorScheme}.png`) });
      await fitsWidth(page);
      // axe judges colours only where nothing lies over the text.
      await page.evaluate(() => (document.querySelector(".frame").style.marginTop = "60rem"));
      await page.setViewportSize({ width: viewport.width, height: 2000 });
      const height = await page.evaluate(() => Math.max(document.documentElement.scrollHeight, document.getElementById("contents").scrollHeight + 1100));
      await page.setViewportSize({ width: viewport.width, height });
      await isAccessible(page, `the results at ${name} px, ${colorScheme}`, rulesOf(colorScheme));
      await page.evaluate(() => (document.querySelector(".frame").style.marginTop = ""));
    }
  }
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.pathname === "/docs/errors" && url.hash === "#insufficient_credit");
  await page.waitForFunction(() => {
    const { top } = document.getElementById("insufficient_credit").getBoundingClientRect();
    return top > 0 && top < innerHeight;
  });
  await field.fill("status_at");
  await options.filter({ hasText: "status_at" }).first().click();
  await page.waitForURL((url) => url.pathname === "/docs/reference" && url.hash.startsWith("#getSessionStatus"));
  page.kept();
  await page.context().close();
});

test("a page in German searches its own texts, and answers in German", async () => {
  const page = await visitor(browser, { viewport: sizes[390], camera: false });
  await page.goto(`${gateway.url}/docs/support.de`, { waitUntil: "load" });
  const [field, count] = [page.locator("#search"), page.locator("#found-count")];
  await field.fill("abgebucht");
  await count.filter({ hasText: /^\d+ Treffer\. Enter zeigt alle\.$/ }).waitFor();
  assert.equal(await page.getByRole("option").first().getAttribute("lang"), "de");
  await field.fill("xqzvw");
  await count.filter({ hasText: /^Nichts gefunden\.$/ }).waitFor();
  await field.fill("abgebucht");
  await field.press("Enter");
  await part(page, "search-count").filter({ hasText: /^\d+ Treffer für “abgebucht”$/ }).waitFor();
  assert.equal(await part(page, "search-count").getAttribute("lang"), "de");
  await page.locator('.results li[lang="de"] a').first().click();
  await page.waitForURL(/support\.de#geld/);
  await page.goto(`${gateway.url}/docs/support`, { waitUntil: "load" });
  await field.fill("Erstattungen");
  await page.getByRole("option").filter({ has: page.locator("span", { hasText: /Geld|abgebucht|Abbuchung/ }) }).waitFor();
  page.kept();
  await page.context().close();
});

test("all results are on a page, and the list of pages is there without a script", async () => {
  const page = await visitor(browser, { viewport: sizes[390], camera: false });
  await page.goto(`${gateway.url}/docs/errors`, { waitUntil: "load" });
  await page.locator("#search").fill('webhook timeout"><b>');
  await page.locator("#search").press("Enter");
  await part(page, "search-count").filter({ hasText: /^\d+ results for “webhook timeout"><b>”$/ }).waitFor();
  assert.equal(await part(page, "search-count").getAttribute("role"), "status");
  assert.equal(await page.locator(".groups, main > .lead:not(#all-found)").count(), 0); // the results are not buried
  for (const [name, viewport] of Object.entries(sizes)) {
    for (const colorScheme of ["light", "dark"]) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      if (shots) await page.screenshot({ path: join(shots, `search-page-${name}-${colorScheme}.png`) });
      await isAccessibleWhole(page, viewport, `the page of results at ${name} px, ${colorScheme}`, rulesOf(colorScheme));
      await fitsWidth(page);
    }
  }
  await page.locator('.results a[href$="/docs/verify-webhook#what-else-to-do"]').click();
  await page.waitForURL(`${gateway.url}/docs/verify-webhook#what-else-to-do`);
  await page.goto(`${gateway.url}/docs?q=xqzvw`);
  await part(page, "search-count").filter({ hasText: "Nothing found for “xqzvw”" }).waitFor();
  await page.locator(".groups a").first().waitFor();
  await page.goto(`${gateway.url}/docs#q=webhook+timeout`); // as the dashboard's search hands words over
  await part(page, "search-count").filter({ hasText: /^\d+ results for “webhook timeout”$/ }).waitFor();
  await page.goto(`${gateway.url}/docs?q=Daten+l%C3%B6schen`);
  await page.locator('.results li[lang="de"] a').first().click();
  await page.locator("h2:target", { hasText: "löschen" }).waitFor();
  page.kept();
  await page.context().close();

  const plain = await visitor(browser, { viewport: sizes[390], camera: false, javaScriptEnabled: false });
  await plain.goto(`${gateway.url}/docs/errors`, { waitUntil: "load" });
  await plain.locator("#search").fill("webhook timeout");
  await plain.locator("#search").press("Enter");
  await plain.waitForURL((url) => url.pathname === "/docs");
  await plain.locator(".groups a", { hasText: "Verify a webhook" }).waitFor();
  await plain.context().close();
});

test("a link to a part of the reference at its old address still leads there", async () => {
  const page = await visitor(browser, { viewport: sizes[390], camera: false });
  await page.goto(`${gateway.url}/docs#getSessionStatus-200`);
  await page.waitForURL(`${gateway.url}/docs/reference#getSessionStatus-200`);
  await page.locator("#getSessionStatus-200").waitFor();
  page.kept();
  await page.context().close();
});

test("the five-minute guide's commands are copied with this gateway's address, by keyboard", async () => {
  const page = await visitor(browser, { viewport: sizes[390], camera: false, permissions: ["clipboard-read", "clipboard-write"] });
  await page.goto(`${gateway.url}/docs/integrate`, { waitUntil: "load" });
  const copied = [];
  for (const i of [0, 1]) {
    const button = page.locator(".block button").nth(i);
    await button.press("Enter");
    await button.filter({ hasText: "Copied" }).waitFor();
    copied.push(await page.evaluate(() => navigator.clipboard.readText()));
  }
  assert.ok(copied[0].includes(`export AGEGATE_URL=${gateway.url}\n`), copied[0]);
  assert.match(copied[1], /^curl -sS "\$AGEGATE_URL/);
  assert.equal(await page.getByText("age.example.com").count(), 0);
  page.kept();
  await page.context().close();
});

test("no button to copy covers code or has a row of its own, and a long guide lists its parts, from 360 px on", async () => {
  for (const width of long ? [360, 800, 1000, 1440] : [360, 1440]) {
    const page = await visitor(browser, { viewport: { width, height: 900 }, camera: false });
    for (const path of ["/docs/integrate", "/docs/verify-webhook", "/docs/reference"]) {
      await page.goto(gateway.url + path, { waitUntil: "load" });
      await page.locator(".block button").first().waitFor();
      const misplaced = await page.evaluate(() => [...document.querySelectorAll(".block")].filter((block) => {
        const button = block.querySelector("button").getBoundingClientRect();
        const code = [...block.querySelectorAll("pre")].find((pre) => pre.checkVisibility()).getBoundingClientRect();
        const text = document.createRange();
        text.selectNodeContents(block.querySelector(".head"));
        const beside = [...text.getClientRects()].some(({ left, right, top, bottom }) => right > left && right <= button.left && top < button.bottom && bottom > button.top);
        return button.bottom > code.top || !beside;
      }).length);
      assert.equal(misplaced, 0, `${path} at ${width} px`);
    }
    await page.goto(`${gateway.url}/docs/privacy`, { waitUntil: "load" });
    await fitsWidth(page);
    const outline = page.locator(".outline");
    assert.equal(await outline.locator("a").first().isVisible(), width === 1440);
    if (width !== 1440) await outline.locator("summary").press("Enter");
    await outline.getByText("What to tell your shoppers").click();
    await page.waitForURL(/#what-to-tell-your-shoppers$/);
    await page.locator('[rel="prev"]').click();
    await page.waitForURL(/support$/);
    page.kept();
    await page.context().close();
  }
});

test("at 360 px every table is read whole: its rows are lists, or it scrolls below its first column by keyboard", async () => {
  const page = await visitor(browser, { viewport: { width: 360, height: 740 }, camera: false });
  let scrolled = 0;
  for (const path of some) {
    await page.goto(gateway.url + path, { waitUntil: "load" });
    await fitsWidth(page);
    for (const table of await page.locator(".scroll").all()) {
      const over = await table.evaluate((e) => e.scrollWidth - e.clientWidth);
      if (over <= 0) continue;
      assert.match(await table.getAttribute("class"), /wide/, `${path}: a table is ${over} px too wide`);
      if (scrolled++ > 0) continue;
      const name = table.locator("td").first();
      const { x } = await name.boundingBox();
      await table.focus();
      await page.keyboard.press("ArrowRight");
      await page.waitForFunction((e) => e.scrollLeft > 0, await table.elementHandle());
      assert.equal((await name.boundingBox()).x, x);
    }
  }
  assert.ok(scrolled > 0);
  page.kept();
  await page.context().close();
});

test("a language is chosen once for all samples, and kept", async () => {
  const page = await visitor(browser, { viewport: sizes[1440], camera: false });
  await page.goto(`${gateway.url}/docs/reference`, { waitUntil: "load" });
  await page.locator('.samples input[value="PHP"]').first().check();
  await page.goto(`${gateway.url}/docs/verify-token`, { waitUntil: "load" });
  await page.locator('.samples pre[data-language="PHP"]').waitFor();
  assert.equal(await page.locator(".samples pre:visible").count(), 1);
  page.kept();
  await page.context().close();
});

test("without a script everything is there", async () => {
  const page = await visitor(browser, { viewport: sizes[390], camera: false, javaScriptEnabled: false });
  await page.goto(`${gateway.url}/docs/reference`, { waitUntil: "load" });
  await page.locator(".samples label", { hasText: "Python" }).first().click();
  await page.locator('.samples pre[data-language="Python"]').first().waitFor();
  await page.locator(".to-contents").click();
  await page.locator("#contents a", { hasText: "Errors by detail" }).click();
  await page.waitForURL(`${gateway.url}/docs/errors`);
  await page.locator("#session-not-found").waitFor();
  const part = page.locator(".outline a").first();
  assert.equal(await part.isVisible(), false);
  await page.locator(".outline summary").click();
  await part.waitFor();
  await page.setViewportSize(sizes[1440]);
  await page.reload();
  await part.waitFor(); // open where there is room
  await page.context().close();
});
