// What an owner sets, pays and looks up in the dashboard: settings with their
// consequences, branding on the hosted page, billing, the audit log. Every page
// in both widths and themes, empty, full and failing.
// E2E_SHOTS=DIR writes a picture of every page.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { launch, visitor } from "./lib/browser.mjs";
import { eventually, patience, startGateway } from "./lib/gateway.mjs";
import { after, before, test } from "./lib/row.mjs";
import * as staff from "./lib/staff.mjs";
import { sawItsPages } from "./lib/staff.mjs";
import { leads, part, sees } from "./lib/walk.mjs";

// A PNG of four by two pixels.
const logo = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAQAAAACCAIAAADwyuo0AAAAEElEQVR4nGM4YaMBRwzIHAB++glhzkZgJwAAAABJRU5ErkJggg==", "base64");

let gateway, browser, tenant, ada, base;
before(async () => {
  gateway = await startGateway();
  browser = await launch();
  tenant = gateway.tenant("--free-checks", "3", "--credit", "60", "--webhook-url", `${gateway.shop}/hook`);
  base = `${gateway.url}/dashboard/${tenant.tenant_id}`;
  ada = await owner();
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
});

const agegate = (...args) => staff.agegate(gateway, ...args);

/** Opens the browser of the tenant's owner, signed in by a passkey. */
async function owner() {
  const link = agegate("user", "setup-link", "--tenant", tenant.tenant_id);
  const page = await staff.person(browser);
  await page.goto(link);
  await page.fill("[name=name]", "Ada");
  await page.fill("[name=email]", "ada@shop.example");
  await part(page, "passkey").click();
  await page.waitForURL((url) => url.pathname.endsWith("/test"));
  return page;
}

/** Opens every section of the settings. */
const unfold = () => ada.evaluate(() => document.querySelectorAll(".part").forEach((part) => (part.open = true)));

/** Looks at all of the page from its top, with the bar that saves at its end: axe cannot read what lies below a bar. */
async function look(name) {
  await unfold();
  const place = (at) => ada.evaluate((at) => {
    document.querySelector(".keep")?.style.setProperty("position", at);
    scrollTo(0, 0);
  }, at);
  await place("static");
  await staff.look(ada, name);
  await place("");
}

/** The names of the sections that are open. */
const open = () => ada.locator(".part[open] > summary").evaluateAll((all) => all.map(({ id }) => id));

const fill = async (values) => {
  for (const [name, value] of Object.entries(values)) await ada.fill(`[name="${name}"]`, value);
};

/** Fails unless the visible page has all of these texts. */
async function says(...texts) {
  const body = await ada.locator("main").innerText();
  for (const text of texts) assert.ok(body.includes(text), `${ada.url()} lacks ${text}`);
}

test("empty pages say what they are for", async () => {
  for (const [name, path, text] of [
    ["settings-empty", "/settings", "These apply to test and live alike."], ["audit-empty", "/audit?action=session.prune", "No entries"],
  ]) {
    await ada.goto(base + path);
    await says(text);
    await look(name);
  }
});

test("the navigation stays in view on a long page", async () => {
  await ada.goto(`${base}/settings`);
  await unfold();
  const top = await ada.evaluate(() => {
    scrollTo(0, document.body.scrollHeight);
    return scrollY && document.querySelector(".menu").getBoundingClientRect().top;
  });
  assert.ok(top > 0, `it begins at ${top}`);
});

test("a change of URLs is reviewed before it is saved", async () => {
  await gateway.session(tenant);
  await ada.goto(`${base}/settings`);
  await leads(ada, part(ada, "edit-urls"));
  await look("urls");
  await fill({ success_url: "shop.example/done", webhook_url: "ftp://shop.example/" });
  await leads(ada, part(ada, "review"));
  await sees(ada, "summary");
  await look("urls-failing");
  await fill({ success_url: "https://shop.example/done", cancel_url: "", webhook_url: "https://new.example/hook" });
  await leads(ada, part(ada, "review"));
  await sees(ada, "breaks");
  await says("Sessions created without a cancel URL will be refused", "1 session created in the last 7 days", "1 open session keeps the webhook URL");
  await look("urls-review");
  await leads(ada, part(ada, "save"));
  await says("The callback URLs are saved.");
  await says("https://new.example/hook");
});

test("sections are saved together: what is wrong in any is named at once, and nothing is lost", async () => {
  await ada.setViewportSize({ width: 360, height: 740 });
  await ada.goto(`${base}/settings`);
  const states = ada.locator(".part > summary > .muted");
  assert.match((await states.allTextContents()).join("|"), /\|\d+ languages\|[^|]+\|/);
  assert.deepEqual(await states.evaluateAll((all) => all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)), []);
  await ada.setViewportSize({ width: 1280, height: 720 });
  await unfold();
  const bar = () => ada.locator(".keep").evaluate((at) => getComputedStyle(at).position);
  assert.equal(await bar(), "static", "the bar covers a page on which nothing was changed");
  const ground = () => part(ada, "save").evaluate((button) => getComputedStyle(button).backgroundColor);
  const quiet = await ground();
  await ada.check("[name=document_check]");
  assert.equal(await bar(), "sticky");
  await eventually("the button to save looks like one", async () => (await ground()) !== quiet);
  await ada.selectOption("[name=default]", "de");
  await ada.uncheck("[name=languages][value=de]");
  await fill({ alert_below: "-1", margin: "2.9", help_url: "shop.example/help" });
  await ada.locator("[name=help_url]").press("Enter"); // saves, as the button does
  await sees(ada, "summary");
  const faults = part(ada, "summary").getByRole("link");
  assert.deepEqual(await faults.evaluateAll((all) => all.map((a) => a.hash)), ["#f-margin", "#f-default", "#f-help_url", "#f-alert_below"]);
  assert.ok(await ada.isChecked("[name=document_check]"));
  assert.equal(await ada.inputValue("[name=alert_below]"), "-1");
  await look("settings-failing");
  await ada.setViewportSize({ width: 1280, height: 800 });
  await ada.locator("[name=brand_name]").focus();
  for (let i = 0; i < 12 && !(await ada.locator("[name=help_url]").evaluate((field) => field === document.activeElement)); i++) await ada.keyboard.press("Tab");
  assert.ok(await ada.locator("#p-help_url").evaluate((line) => line.getBoundingClientRect().bottom <= document.querySelector(".keep").getBoundingClientRect().top), "the bar covers what is wrong");
  await faults.last().click();
  assert.ok(await ada.locator("[name=alert_below]").evaluate((field) => field === document.activeElement));
  await hidesNoFocus();
  await ada.check("[name=languages][value=de]");
  await ada.uncheck("[name=languages][value=en]");
  await fill({ alert_below: "100", margin: "", help_url: "https://shop.example/help" });
  assert.deepEqual(await ada.locator("main [aria-invalid]").evaluateAll((all) => all.map((field) => field.name)), ["default"], "what was typed anew stays marked");
  assert.equal(await ada.locator("main .problem").count(), 1);
  await leads(ada, part(ada, "save"));
  await says("The settings are saved.");
  await ada.goto(`${base}/audit`);
  const entry = await ada.locator("main tbody tr").first().innerText();
  for (const name of ["Document check", "Help page", "Languages", "Low-balance alert"]) assert.ok(entry.includes(name), `${entry} lacks ${name}`);
  assert.ok(!/Margins|Age visibility|Colour/.test(entry), entry);
  await ada.goto(`${base}/billing`);
  await sees(ada, "low-balance");
  const shopper = await visitor(browser, { locale: "en-GB" });
  await shopper.goto((await gateway.session(await settled())).url);
  assert.equal(await shopper.locator("html").getAttribute("lang"), "de");
  shopper.kept();
  await shopper.context().close();
});

/** Fails if the bar with the button to save covers a field that the keyboard reaches. */
async function hidesNoFocus() {
  await ada.setViewportSize({ width: 1440, height: 700 });
  await ada.locator("[name=document_check]").focus();
  for (let i = 0; i < 25; i++) {
    await ada.keyboard.press("Tab");
    const covered = await ada.evaluate(() => {
      const [field, bar] = [document.activeElement, document.querySelector(".keep")];
      return !bar.contains(field) && field.getBoundingClientRect().bottom > bar.getBoundingClientRect().top ? field.outerHTML : "";
    });
    assert.equal(covered, "");
  }
  await ada.setViewportSize({ width: 1440, height: 900 });
}

test("a checkbox is a small box beside its label", async () => {
  for (const width of [1280, 360]) {
    await ada.setViewportSize({ width, height: 900 });
    await ada.goto(`${base}/settings`);
    await unfold();
    const odd = await ada.locator(".check").evaluateAll((all) => all.flatMap((label) => {
      const [box, text] = [...label.children].map((at) => at.getBoundingClientRect());
      return box.width <= 24 && box.height <= 24 && text.left - box.right < 24 && text.top < box.bottom ? [] : label.outerHTML;
    }));
    assert.deepEqual(odd, [], `at ${width} pixels`);
  }
});

test("a margin's effect is shown before it is saved", async () => {
  await ada.goto(`${base}/settings/margins`);
  assert.deepEqual(await open(), ["margins"]);
  await unfold();
  await fill({ target: "18", margin: "9", brand_name: "Kept" });
  await leads(ada, part(ada, "effect"));
  await says("Target age 18: 9 years instead of 3", "An estimate of 27 is needed instead of 21.", "Margins do not act in even steps");
  assert.equal(await ada.inputValue("[name=brand_name]"), "Kept");
  await look("margins-effect");
  await leads(ada, part(ada, "save"));
  await says("The settings are saved.", "9 years");
});

/** Gives the tenant back the URLs that its sessions need. */
async function settled() {
  agegate("tenant", "set", tenant.tenant_id, "--cancel-url", `${gateway.shop}/cancelled`);
  return tenant;
}

test("branding shows on the hosted page", async () => {
  await ada.goto(`${base}/settings/branding`);
  await fill({ brand_name: "Vin & Øl", brand_colour: "#ffd400" });
  await ada.setInputFiles("[name=brand_logo]", { name: "logo.png", mimeType: "image/png", buffer: logo });
  for (const scheme of ["light", "dark"]) { // by the page's script, and by the button
    const phone = ada.frameLocator(`[name=preview-${scheme}]`);
    await phone.getByAltText("Vin & Øl").waitFor();
    await part(ada, `preview-${scheme}`).click();
    await phone.getByText("Vin & Øl", { exact: false }).first().waitFor();
  }
  await ada.locator("#f-brand_name").fill("Vin"); // as it is typed: the field keeps the focus
  await ada.frameLocator("[name=preview-dark]").getByAltText("Vin", { exact: true }).waitFor();
  await fill({ brand_name: "Vin & Øl" });
  await look("branding-preview");
  await ada.setInputFiles("[name=brand_logo]", { name: "logo.svg", mimeType: "image/svg+xml", buffer: Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>") });
  await leads(ada, part(ada, "save"));
  await sees(ada, "summary");
  await says("is not a PNG, JPEG or WebP picture");
  await ada.setInputFiles("[name=brand_logo]", { name: "logo.png", mimeType: "image/png", buffer: logo });
  await part(ada, "preview-light").click(); // the file stays chosen
  // A phone that has loaded while the form is on its way does not take the form's place.
  await Promise.all([ada.waitForEvent("domcontentloaded"), ada.evaluate(() => {
    document.getElementById("f-brand_name").dispatchEvent(new Event("change", { bubbles: true }));
    document.querySelector("[data-testid=save]").click();
    document.querySelector("[name=preview-light]").dispatchEvent(new Event("load"));
  })]);
  await says("The settings are saved.");
  assert.deepEqual(await open(), ["branding"]);
  assert.equal(await ada.evaluate(() => document.activeElement.id), "branding", "the section that was saved takes the focus");
  assert.ok(await part(ada, "notice").evaluate((at) => at.getBoundingClientRect().top > 0 && at.getBoundingClientRect().bottom < innerHeight));
  await look("settings");
  const shopper = await visitor(browser);
  await shopper.goto((await gateway.session(tenant)).url);
  await shopper.getByAltText("Vin & Øl").waitFor();
  assert.equal(await shopper.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--accent")), "#7e6800");
  assert.equal(await shopper.locator(".button.primary").first().evaluate((at) => getComputedStyle(at).backgroundColor), "rgb(255, 212, 0)");
  shopper.kept();
  await shopper.context().close();
});

test("billing, and its ledger as a file", async () => {
  for (let i = 0; i < 2; i++) await gateway.session(tenant, { live: true });
  await ada.goto(`${base}/billing`);
  await says("2 of 3 spent or reserved", "Credit was added", "Only 61 checks are left");
  await look("billing");
  const [download] = await Promise.all([ada.waitForEvent("download"), ada.getByRole("link", { name: "CSV" }).click()]);
  assert.equal(readFileSync(await download.path(), "utf8").trim().split("\n").length, 4);
});

test("a signed pack of evidence is downloaded and holds", async () => {
  await ada.goto(`${base}/evidence`);
  await look("evidence");
  await fill({ to: "2020-01-01" });
  await leads(ada, part(ada, "download"));
  await sees(ada, "summary");
  await look("evidence-failing");
  await fill({ to: new Date().toISOString().slice(0, 10) });
  for (const sessions of ["", "\n"]) { // the page stays, for a second pack
    await ada.locator("[data-testid=download]:not([aria-disabled])").waitFor();
    await fill({ sessions });
    const [download] = await Promise.all([ada.waitForEvent("download"), part(ada, "download").click()]);
    agegate("evidence", "verify", await download.path());
  }
});

test("the audit log says who did what, and leaves as a file that can be checked", async () => {
  await ada.goto(`${base}/audit`);
  await says("Log intact", "Low-balance alert", "(command line)");
  await look("audit");
  const [download] = await Promise.all([ada.waitForEvent("download"), part(ada, "export").click()]);
  agegate("audit", "verify", await download.path());
  await ada.locator("main").getByRole("link", { name: "Ada" }).first().click();
  await ada.waitForURL(/actor=/);
  assert.ok(!(await ada.locator("main").innerText()).includes("(command line)"));
  ada.kept();
});

test("without JavaScript, and in German", async () => {
  const plain = await browser.newContext({ javaScriptEnabled: false, storageState: await ada.context().storageState(), locale: "de-DE" });
  plain.setDefaultTimeout(patience);
  const page = await plain.newPage();
  await page.goto(`${base}/settings/languages`);
  await page.uncheck("[name=languages][value=fr]");
  await page.click("[data-testid=save]");
  await page.getByText("Die Einstellungen sind gespeichert.").waitFor();
  await plain.close();
});

test("every page was looked at", () => sawItsPages(import.meta.url));
