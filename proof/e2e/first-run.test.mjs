// A merchant's first minutes: invited by the operator, with nothing set, and then
// as far as a webhook that verifies.
// E2E_SHOTS=DIR writes a picture of the pages, in both sizes and themes.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { launch } from "./lib/browser.mjs";
import { eventually, startGateway } from "./lib/gateway.mjs";
import { after, before, test } from "./lib/row.mjs";
import * as staff from "./lib/staff.mjs";
import { agegate, fill, person, sawItsPages } from "./lib/staff.mjs";
import { leads, part, sees } from "./lib/walk.mjs";

let gateway, browser, receiver, operator;
const got = [];

before(async () => {
  receiver = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      got.push({ headers: request.headers, body });
      response.writeHead(204).end();
    });
  });
  await new Promise((resolve) => receiver.listen(0, "localhost", resolve));
  gateway = await startGateway({ AGEGATE_WEBHOOK_ALLOW_NETS: "127.0.0.0/8,::1/128" });
  browser = await launch();
  operator = await person(browser);
  await operator.goto(agegate(gateway, "user", "setup-link"));
  await fill(operator, { name: "Ada", email: "ada@gate.example" });
  await part(operator, "passkey").click();
  await operator.waitForURL((url) => url.pathname === "/operator");
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
  receiver?.close();
});

/** Opens the page of an invitation that the operator made for a new merchant, its form filled in. */
async function invited(name) {
  await operator.goto(`${gateway.url}/operator/tenants/new`);
  await fill(operator, { name });
  await part(operator, "create").click();
  await sees(operator, "made-link");
  const link = await operator.locator('[data-testid="made-link"] code').textContent();
  const merchant = await person(browser);
  await merchant.goto(link);
  await fill(merchant, { name: "Grace", email: `grace@${name.toLowerCase()}.example` });
  return merchant;
}

/** Whether a webhook is signed with a secret, by the scheme of Standard Webhooks. */
function verifies({ headers, body }, secret) {
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const signed = createHmac("sha256", key).update(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`).digest("base64");
  return headers["webhook-signature"].split(" ").includes(`v1,${signed}`);
}

test("an invited merchant gets a verified test webhook in six clicks", async () => {
  const page = await invited("Cellar");
  let clicks = 0;
  const click = async (id) => {
    clicks++;
    await leads(page, part(page, id).first());
  };
  await click("passkey");
  await sees(page, "checklist");
  await staff.look(page, "first-overview");
  assert.equal(await page.locator("[data-testid=nav-docs]").getAttribute("href"), `${gateway.url}/docs`);
  await click("todo-webhook_url");
  await fill(page, { webhook_url: `http://localhost:${receiver.address().port}/hook` });
  await click("review");
  await click("save");
  await sees(page, "make-session");
  await click("make-session");
  clicks++;
  const [shopper] = await Promise.all([page.context().waitForEvent("page"), part(page, "force-verified").click()]);
  await sees(shopper, "returned");
  assert.ok(clicks <= 6, `${clicks} clicks`);

  await eventually("the webhook", () => got.length > 0);
  assert.equal(got.length, 1);
  assert.equal(JSON.parse(got[0].body).status, "VERIFIED");
  const tenant = /dashboard\/([^/]+)\/test/.exec(page.url())[1];
  await page.goto(`${gateway.url}/dashboard/${tenant}/test/webhooks`);
  await leads(page, part(page, "reveal"));
  assert.ok(verifies(got[0], /whsec_[A-Za-z0-9+/=]+/.exec(await page.locator("main").innerHTML())[0]));
  await page.goto(`${gateway.url}/dashboard/${tenant}/test`);
  await sees(page, "checklist");
  assert.ok(await part(page, "todo-live_key").isVisible(), "a live key that nobody has seen is not done");
  page.kept();
});

test("without any URL the first test session leads to built-in pages", async () => {
  const page = await invited("Vault");
  await leads(page, part(page, "passkey"));
  await leads(page, part(page, "make-session"));
  const [passed] = await Promise.all([page.context().waitForEvent("page"), part(page, "force-verified").click()]);
  await sees(passed, "returned");
  await staff.look(passed, "returned-passed");
  await leads(passed, part(passed, "to-session"));
  await sees(passed, "timeline");
  await passed.goto(`${gateway.url}/dashboard/returned?status=none&session=%22%3E&tenant=%3Cb%3E`);
  assert.equal(await part(passed, "to-urls").count(), 0);
  await staff.look(passed, "returned-cancelled");
  page.kept();
});

test("every page of this file was looked at", () => sawItsPages(import.meta.url));
