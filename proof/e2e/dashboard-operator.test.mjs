// The operator's console: a tenant is made, limited, looked into and disabled;
// every page fits and is accessible.
// E2E_SHOTS=DIR writes a picture of every page, in both sizes and themes.
import assert from "node:assert/strict";
import { launch } from "./lib/browser.mjs";
import { eventually, startGateway } from "./lib/gateway.mjs";
import { after, before, test } from "./lib/row.mjs";
import * as staff from "./lib/staff.mjs";
import { agegate, person, sawItsPages } from "./lib/staff.mjs";
import { fitsWidth, leads, part, sees } from "./lib/walk.mjs";

let gateway, browser, page;
before(async () => {
  gateway = await startGateway();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
});

const look = (name) => staff.look(page, name);
const fill = (values) => staff.fill(page, values);
const arrives = (path) => page.waitForURL((url) => url.pathname === path);

test("an operator makes a tenant, looks into it and disables it", async () => {
  page = await person(browser);
  await page.goto(agegate(gateway, "user", "setup-link"));
  await fill({ name: "Ada", email: "ada@gate.example" });
  await part(page, "passkey").click();
  await arrives("/operator");
  await look("operator");

  await leads(page, part(page, "new-tenant"));
  await look("operator-new");
  await part(page, "create").click();
  await sees(page, "summary");
  await look("operator-new-wrong");
  await fill({ name: "Wein & Mehr GmbH, Zweigniederlassung Süd" });
  await part(page, "create").click();
  await sees(page, "made-link");
  await look("operator-link");

  await page.goto(`${gateway.url}/operator`);
  assert.equal(await page.locator("input[type=search]").count(), 1);
  await leads(page, part(page, "tenant-link").filter({ hasText: "Wein" }));
  await look("operator-tenant");
  const tenant = new URL(page.url()).pathname;
  await leads(page, part(page, "act-credit"));
  await look("operator-credit");
  await fill({ units: "500", note: "Invoice 2026-117" });
  await part(page, "confirm").click();
  await arrives(tenant);
  assert.equal((await part(page, "credit").textContent()).trim(), "500");
  await leads(page, part(page, "act-correct"));
  await look("operator-correct");
  await fill({ units: "100", note: "Invoice 2026-117 was of 400" });
  await part(page, "confirm").click();
  await arrives(tenant);
  assert.equal((await part(page, "credit").textContent()).trim(), "400");
  await leads(page, part(page, "act-limits"));
  await look("operator-limits");
  await fill({ test_cap: "many" });
  await part(page, "confirm").click();
  await sees(page, "summary");
  await fill({ test_cap: "20" });
  await part(page, "confirm").click();
  await arrives(tenant);

  await leads(page, part(page, "act-invite"));
  await look("operator-invite"); // and not done
  await page.goto(gateway.url + tenant);
  await leads(page, part(page, "act-enter"));
  await look("operator-enter");
  await fill({ reason: "Ticket 4711: no webhook arrives" });
  await part(page, "confirm").click();
  await sees(page, "entered");
  await look("operator-inside");
  await part(page, "leave").click();
  await arrives("/operator");
  await page.goto(gateway.url + tenant);
  await leads(page, part(page, "act-disable"));
  await look("operator-disable");
  await fill({ reason: "Unpaid" });
  await part(page, "confirm").click();
  await arrives(tenant);
  await leads(page, part(page, "act-enable"));
  await look("operator-enable");
});

test("the time of a tenant's newest session stays in its card", async () => {
  const made = gateway.tenant();
  await gateway.session(made, { live: true });
  await page.goto(`${gateway.url}/operator/tenants/${made.tenant_id}`);
  await part(page, "latest").locator("time").waitFor();
  for (const width of [360, 768, 1280, 1440]) {
    await page.setViewportSize({ width, height: 800 });
    await fitsWidth(page);
    assert.ok(await part(page, "latest").evaluate((card) => card.scrollWidth <= card.clientWidth), `it overflows at ${width} px`);
  }
});

test("at 360 px a tenant's state stands below its name, and no figure breaks", async () => {
  gateway.tenant("--name", "Dampfkontor Staging", "--free-checks", "0");
  await page.setViewportSize({ width: 360, height: 800 });
  await page.goto(`${gateway.url}/operator`);
  await fitsWidth(page);
  const row = page.locator("tbody tr").filter({ hasText: "Dampfkontor" });
  const [name, state] = await Promise.all([part(row, "tenant-link"), row.locator(".badge").first()].map((at) => at.boundingBox()));
  assert.ok(state.y >= name.y + name.height && Math.abs(state.x - name.x) < 2, "the state takes room from the name");
  assert.ok(name.height < 32, `the name has ${name.height} px for one line`);
});

test("the operator's search finds tenants, users and pages, and shows them while one types", async () => {
  await page.goto(`${gateway.url}/operator/system`);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("wein");
  await part(page, "found").getByText("1 match").waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: /Wein & Mehr/ }).waitFor();
  await page.goto(`${gateway.url}/operator/find`);
  await look("operator-find");
  await page.locator("[data-find]").fill("ada@gate");
  await page.keyboard.press("Enter");
  await page.waitForURL(/users\?user=/);
  assert.equal(await part(page, "user").count(), 1);
  await page.goto(`${gateway.url}/operator/find`);
  await page.locator("[data-find]").fill("nobody-has-this-name");
  await page.keyboard.press("Enter");
  await sees(page, "nothing");
  await look("operator-find-nothing");
});

test("users, system and the log of the instance are shown", async () => {
  for (const path of ["users", "system", "audit"]) {
    await page.goto(`${gateway.url}/operator/${path}`);
    await look(`operator-${path}`);
  }
  await page.goto(`${gateway.url}/operator/users`);
  await staff.asks(page, part(page, "invite-operator"));
  await look("operator-users-invite");
  await part(page, "confirm").click();
  await sees(page, "made-link");
  await look("operator-users-invited");
  await page.goto(`${gateway.url}/operator/users`);
  await look("operator-users-links");
  await staff.asks(page, part(page, "revoke"));
  await look("operator-users-revoke");
  await part(page, "confirm").click();
  await sees(page, "notice");
  assert.equal(await part(page, "link").count(), 0);
});

test("the table of replicas stays in its card", async () => {
  await page.goto(`${gateway.url}/operator/system`);
  const code = page.locator("[data-testid=replica] code").first();
  await code.evaluate((e) => e.replaceChildren("v0.2.0+", document.createElement("wbr"), "20261130102227.", document.createElement("wbr"), "6ab4f2ef"));
  for (const width of [360, 768, 1280, 1440]) {
    await page.setViewportSize({ width, height: 800 });
    await fitsWidth(page);
    assert.ok(await page.locator("[data-live=system] .panel").first().evaluate((card) => card.scrollWidth <= card.clientWidth), `it overflows at ${width} px`);
  }
});

test("System shows what is not well and what is left to set up", async () => {
  const reload = () => page.goto(`${gateway.url}/operator/system`);
  await reload();
  await look("operator-system-new");
  await page.setViewportSize({ width: 320, height: 568 });
  for (const figure of await page.locator(".tile strong").all()) {
    const [lines, room] = await figure.evaluate((node) => [node.clientHeight / parseFloat(getComputedStyle(node).lineHeight), node.parentElement.parentElement.clientWidth - node.scrollWidth]);
    assert.ok(lines < 1.5 && room >= 0, `${await figure.textContent()} at 320 px: ${lines} lines, ${room} px left`);
  }
  for (const width of [360, 768, 1280, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    const gap = await page.locator(".tiles").evaluate((all) => all.getBoundingClientRect().right - all.lastElementChild.getBoundingClientRect().right);
    assert.ok(Math.abs(gap) < 2, `the last tile leaves ${gap} px of its row at ${width} px`);
  }
  const guide = part(page, "setup-backup");
  const heading = new URL(await guide.getAttribute("href"));
  await leads(page, guide);
  await page.locator(heading.hash).waitFor();
  agegate(gateway, "database", "backed-up");
  await eventually("the backup is known", async () => { // findings are remembered for a while
    await reload();
    return await part(page, "setup-backup").count() === 0;
  });
  await part(page, "done").locator("summary").click();
  await sees(page, "done-backup");
  await look("operator-system-backed-up");
});

test("a user is recovered, disabled and enabled", async () => {
  const shop = gateway.tenant();
  const bob = await person(browser);
  await page.goto(`${gateway.url}/operator/tenants/${shop.tenant_id}/invite`);
  await part(page, "confirm").click();
  await bob.goto(await page.locator('[data-testid="made-link"] code').textContent());
  await staff.fill(bob, { name: "Bob", email: "bob@shop.example" });
  await part(bob, "passkey").click();
  await bob.waitForURL((url) => url.pathname === `/dashboard/${shop.tenant_id}/test`);
  const row = page.locator('[data-testid="user"]').filter({ hasText: "bob@shop.example" });
  for (const [act, outcome] of [["recover", "made-link"], ["disable", "notice"], ["enable", "notice"]]) {
    await page.goto(`${gateway.url}/operator/users`);
    await staff.asks(page, row.getByTestId(`${act}-user`));
    await look(`operator-user-${act}`);
    await part(page, "confirm").click();
    await sees(page, outcome);
  }
  await look("operator-users");
  await bob.context().close();
  page.kept();
});

test("every page was looked at", () => sawItsPages(import.meta.url));
