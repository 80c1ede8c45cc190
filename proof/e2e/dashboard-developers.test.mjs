// The pages for developers: from an empty tenant to a key, a test event and its
// delivery, a rotated secret and a refusal that is explained.
// E2E_SHOTS=DIR writes a picture of every page, in both sizes and themes.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { launch } from "./lib/browser.mjs";
import { eventually, startGateway } from "./lib/gateway.mjs";
import { after, before, test } from "./lib/row.mjs";
import * as staff from "./lib/staff.mjs";
import { agegate, person, sawItsPages } from "./lib/staff.mjs";
import { leads, part, sees } from "./lib/walk.mjs";

const hostile = `"><img src=x onerror=alert(1)>`;

let gateway, browser, receiver, shop, page, home;
let answer = 500;
const got = [];

before(async () => {
  receiver = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      got.push({ headers: request.headers, body });
      response.writeHead(answer, { "X-Hostile": "<b>" }).end(answer === 500 ? `${hostile}\u001b[2J` : "");
    });
  });
  await new Promise((resolve) => receiver.listen(0, "localhost", resolve));
  gateway = await startGateway({ AGEGATE_WEBHOOK_RETRY_TEST: "1s", AGEGATE_WEBHOOK_ALLOW_NETS: "127.0.0.0/8,::1/128" });
  shop = gateway.tenant("--webhook-url", `http://localhost:${receiver.address().port}/hook`);
  browser = await launch();
  page = await invited();
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
  receiver?.close();
});

/** Returns the browser of a developer who was sent nothing but an invitation link. */
async function invited() {
  const owner = await person(browser);
  await owner.goto(agegate(gateway, "user", "setup-link", "--tenant", shop.tenant_id));
  await staff.fill(owner, { name: "Ada", email: "ada@shop.example" });
  await part(owner, "passkey").click();
  await owner.waitForURL((url) => url.pathname.endsWith("/test"));
  await owner.goto(`${gateway.url}/dashboard/${shop.tenant_id}/team`);
  await part(owner, "inviting").click();
  await owner.locator("select").selectOption("developer");
  await part(owner, "confirm").click();
  const link = await owner.locator('.shown code').textContent();
  owner.kept();
  await owner.context().close();

  const developer = await person(browser);
  developer.on("dialog", () => assert.fail("a dialog"));
  await developer.goto(link);
  await staff.fill(developer, { name: hostile, email: "bob@shop.example" });
  await part(developer, "passkey").click();
  home = `${gateway.url}/dashboard/${shop.tenant_id}`;
  await developer.waitForURL(`${home}/test`);
  return developer;
}

const fits = (name) => staff.look(page, name);

const open = async (path, name) => {
  await page.goto(home + path);
  if (name) await fits(name);
};
const click = (id) => leads(page, part(page, id).first());

const asks = (id) => staff.asks(page, part(page, id).first());
const confirms = () => staff.confirms(page);

test("a key is made, tried, rolled and revoked", async () => {
  await open("/test/keys", "keys");
  await click("new-key");
  await click("confirm"); // without a name
  await fits("key-new-refused");
  await page.fill("#f-name", hostile);
  await click("confirm");
  await fits("key-shown");
  const curl = await part(page, "curl").textContent();
  const key = /svc_test_\w+/.exec(curl)[0];
  const create = (body) => fetch(`${gateway.url}/api/v1/sessions/create`, {
    method: "POST", headers: { "X-API-Key": key, "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  assert.equal((await create({ target_age: 18 })).status, 201);
  assert.equal((await create({ target_age: 0 })).status, 422);
  await click("done");
  await sees(page, "new-key");
  assert.equal(await part(page, "key").count(), 2);
  await part(page, "key-sessions").first().click();
  await sees(page, "of-key");
  assert.equal(await part(page, "session").count(), 1);
  await fits("sessions-of-key");
  await page.goBack();
  await asks("roll");
  await fits("key-roll");
  await click("confirm");
  await click("done");
  await fits("keys-rolled");
  await asks("revoke");
  await fits("key-revoke");
  await confirms();
  await fits("keys-revoked");
  page.kept();
});

test("a delivery fails, is understood, and is sent again", async () => {
  await open("/test/webhooks", "webhooks-empty");
  await click("test-event");
  await fits("test-event");
  await click("confirm");
  await eventually("the delivery to have failed", () => page.reload().then(() => page.getByText("Failed", { exact: true }).count()));
  await fits("delivery-failed");
  assert.equal(await page.locator("img").count(), 0);
  await open("/test/webhooks", "webhooks-failing");
  answer = 204;
  await asks("resend-failed");
  await fits("resend");
  await confirms();
  await eventually("the delivery to arrive", () => page.reload().then(() => page.getByText("Delivered", { exact: true }).last().isVisible()));
  await open("/test/webhooks", "webhooks");
  answer = 410;
  await open("/test/webhooks/test");
  await click("confirm");
  await eventually("the endpoint to be disabled", () => open("/test/webhooks").then(() => part(page, "enable").count()));
  await fits("webhooks-disabled");
  answer = 204;
  await asks("enable");
  await fits("enable");
  await confirms();
  await open("/test/webhooks");
  await asks("rotate");
  await fits("rotate");
  await click("confirm");
  await sees(page, "done");
  await fits("rotated");
  await click("done");
  await fits("webhooks-rotated");
  await click("reveal");
  await fits("webhook-secret");
  page.kept();
});

test("whatever is pasted is recognized", async () => {
  const { headers, body } = got.at(-1);
  const search = (text) => page.locator("[data-find]").fill(text).then(() => page.keyboard.press("Enter"));
  await open("/test/paste", "paste");
  await search(hostile); // the names of a member and of a key
  await sees(page, "hits");
  await fits("paste-hits");
  await search(`${hostile} zzz`);
  await sees(page, "nothing");
  await fits("paste-unknown");
  const lines = `${Object.entries(headers).map(([name, value]) => `${name}: ${value}`).join("\n")}\n\n${body}`;
  await page.locator("[data-find]").evaluate((field, lines) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text", lines);
    field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }, lines);
  await page.waitForURL(/\/events\//);
  await page.getByText(headers["webhook-id"], { exact: true }).first().waitFor();
  const { session_id } = JSON.parse(body);
  await search(session_id);
  await page.waitForURL(`${home}/test/sessions/${session_id}`);
  page.kept();
});

test("the redirect secret is replaced in three steps", async () => {
  await open("/test/redirect-secret", "redirect-secret");
  await click("reveal");
  await fits("redirect-revealed");
  await open("/test/redirect-secret");
  await asks("stage");
  await fits("redirect-stage");
  await click("confirm");
  await sees(page, "done");
  await fits("redirect-staged");
  await click("done");
  await asks("promote");
  await fits("redirect-promote");
  await confirms();
  await fits("redirect-promoted");
  await asks("retire");
  await fits("redirect-retire");
  await confirms();
  page.kept();
});

test("a refusal is explained", async () => {
  await open("/live/refusals", "refusals-empty");
  await open("/test/refusals");
  await eventually("the refusal to be listed", () => page.reload().then(() => part(page, "refusal").count()));
  await fits("refusals");
  page.kept();
});

/** On a phone the filters fold, and each line of the deliveries stays in its panel. */
test("the deliveries on a phone, in German", async () => {
  await page.setViewportSize({ width: 360, height: 740 });
  await open("/test/webhooks?lang=de");
  assert.ok(await page.locator("#status").isHidden(), "the filters fold");
  const outside = await part(page, "deliveries").locator("tbody td").evaluateAll((cells) =>
    cells.filter((cell) => cell.getBoundingClientRect().right > cell.closest("[data-live]").getBoundingClientRect().right + 1).map((cell) => cell.textContent));
  assert.deepEqual(outside, []);
  await page.setViewportSize({ width: 1440, height: 900 });
  assert.ok(await page.locator("#status").isVisible(), "the filters are there on a wide screen");
  await open("/test/webhooks?lang=en");
  page.kept();
});

test("in live mode, in German", async () => {
  await open("/live/keys?lang=de", "live-keys-de");
  await open("/live/webhooks", "live-webhooks-de");
  await open("/live/redirect-secret", "live-redirect-de");
  page.kept();
});

test("every page was looked at", () => sawItsPages(import.meta.url));
