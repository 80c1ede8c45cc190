// The document check with a photographed passport: a refused shopper passes with
// their own, and with no other.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { isAccessible } from "./lib/axe.mjs";
import { launch, visitor } from "./lib/browser.mjs";
import { direct, isFilming, passport, perform } from "./lib/camera.mjs";
import { eventually, startGateway } from "./lib/gateway.mjs";
import { after, before, releasing, test } from "./lib/row.mjs";
import { agreesToPhotograph, ends, fitsWidth, gets, hears, leads, openCamera, part, passes, sees } from "./lib/walk.mjs";

let gateway, tenant, browser, receiver;
const received = []; // bodies of webhooks
before(async () => {
  receiver = createServer(async (request, response) => {
    received.push(JSON.parse(await new Response(request).text()));
    response.end();
  });
  await new Promise((resolve) => receiver.listen(0, "localhost", resolve));
  gateway = await startGateway({ AGEGATE_LOG_LEVEL: "debug", AGEGATE_WEBHOOK_ALLOW_NETS: "127.0.0.0/8,::1/128" });
  tenant = gateway.tenant("--document-check", "--webhook-url", `http://localhost:${receiver.address().port}/hook`);
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
  receiver?.close();
});

const cameras = { size: [960, 720], devices: ["Back", "Front"], rate: 8 };

/** What the database has about the attempts of a session. */
const counted = (session) =>
  execFileSync("python3", [
    "-c", "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute('SELECT attempts, strikes, document_attempts FROM sessions WHERE id = ?', [sys.argv[2]]).fetchone())",
    join(gateway.data, "agegate.db"), session.id,
  ], { encoding: "utf8" }).trim();

/** A visitor who holds a passport, and whose session waits for a document. */
async function offered(flags, { live = false, ...options } = {}) {
  const session = await gateway.session(tenant, { age: 18, live });
  const page = await visitor(browser, options);
  await perform(page, { passport: passport(...flags), ...cameras });
  await page.goto(`${session.url}?force=fallback`);
  return { session, page };
}

/** Takes the photo way up to its camera. */
async function films(page) {
  await agreesToPhotograph(page);
  await openCamera(page);
}

/** The cameras that the page has asked for. */
const facing = (page) => page.evaluate(() => window.__streams.map(({ constraints }) => constraints.video.facingMode));

test("a refused shopper passes with their own passport and face", async () => {
  const { session, page } = await offered([]);
  await films(page);
  await page.waitForFunction(() => window.__streams.length > 1);
  assert.deepEqual((await facing(page)).slice(0, 2), ["environment", "user"]);
  await page.waitForFunction(() => document.getElementById("stage").dataset.film === "face");
  await page.waitForTimeout(500); // the other camera opens
  assert.notEqual(await page.locator("#cameras").inputValue(), "", "the list of cameras shows none");
  await passes(page);
  assert.equal(await session.status(), "PASSED");
  page.kept();
});

test("a face that gives no result is asked for again with the reason, and the document is not", async () => {
  const { session, page } = await offered([], { viewport: { width: 320, height: 568 } });
  const opposite = { turn_left: "turn_right", turn_right: "turn_left", up_left: "down_right", up_right: "down_left", look_up: "look_down", look_down: "look_up" };
  await direct(page, { reply: opposite });
  const told = hears(page);
  await films(page);
  const heading = page.locator('[data-testid="screen-live"] h1');
  assert.equal(await heading.textContent(), "Step 1 of 2: document");
  await sees(page, "screen-again");
  assert.match(await part(page, "why").textContent(), /^(?!That attempt).* (arrow|head)/);
  await part(page, "screen-again").getByText("Your document has been read. You only need to show your face again.").waitFor();
  assert.equal(await page.title(), "Try again");
  assert.equal(await heading.textContent(), "Step 2 of 2: your face");
  await isAccessible(page);
  await fitsWidth(page);
  await eventually("pictures under way are answered", async () => {
    const { length } = told;
    await page.waitForTimeout(1000);
    return length === told.length;
  });
  assert.ok(await isFilming(page));
  const read = told.length;
  await direct(page, { reply: {} });
  await part(page, "show-face").click();
  await sees(page, "screen-live");
  assert.equal(await page.title(), "Step 2 of 2: your face");
  await passes(page);
  assert.ok(!told.slice(read).some(({ stage }) => stage === "document"), "the document was asked for again");
  assert.equal(await session.status(), "PASSED");
  page.kept();
});

releasing("an under-age, an expired and a stranger's passport are refused, and the third is final", async () => {
  const { session, page } = await offered(["--birth", "2014-01-31"]);
  await films(page);
  await gets(page, () => sees(page, "refused-under_age"));
  assert.equal(await session.status(), "PENDING");
  const shows = async (...flags) => {
    await perform(page, { passport: passport(...flags), ...cameras });
    await page.goto(`${session.url}/photo`);
    await openCamera(page);
  };
  await shows("--expiry", "2024-01-31");
  await gets(page, () => sees(page, "refused-expired"));
  await shows("--stranger");
  await gets(page, () => sees(page, "screen-fallback"));
  assert.equal(await session.status(), "FALLBACK");
  page.kept();
});

releasing("a phone takes over while the desktop films: one of them goes on, and nothing counts twice", async () => {
  const { session, page: desktop } = await offered([]);
  await agreesToPhotograph(desktop);
  await leads(desktop, part(desktop, "use-phone"));
  const address = await desktop.locator('[data-testid="address"]').textContent();
  await leads(desktop, part(desktop, "camera-here"));
  const told = hears(desktop);
  await openCamera(desktop);
  await eventually("the desktop's pictures are looked at", () => told.some(({ stage }) => stage === "document"));
  assert.ok(await isFilming(desktop));

  const phone = await visitor(browser, { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
  await perform(phone, { passport: passport("--birth", "2014-01-31"), ...cameras });
  await phone.goto(address);
  await leads(phone, part(phone, "codes-match"));
  await openCamera(phone);
  await sees(desktop, "screen-other_tab");
  assert.ok(!(await isFilming(desktop)));
  await gets(phone, () => sees(phone, "refused-under_age"));
  assert.equal(counted(session), "0 0 1");

  // And back: the phone films, the desktop goes on.
  await perform(phone, { passport: passport(), ...cameras });
  const heard = hears(phone);
  await phone.goto(address);
  await openCamera(phone);
  await eventually("the phone's pictures are looked at", () => heard.some(({ stage }) => stage === "document"));
  const opening = await desktop.evaluate(() => document.getElementById("guidance-text").textContent);
  assert.ok(!/edge|still/.test(opening), `the last prompt is still shown: ${opening}`);
  await part(desktop, "screen-other_tab").locator('[data-do="open"]').click();
  await sees(phone, "screen-other_tab");
  assert.ok(!(await isFilming(phone)));
  await passes(desktop);
  assert.equal(await session.status(), "PASSED");
  assert.equal(counted(session), "0 0 1");
  await phone.reload();
  await sees(phone, "notice-handover_done");
  const own = () => received.filter(({ session_id }) => session_id === session.id);
  await eventually("the webhook arrives", () => own().length > 0);
  assert.deepEqual(own().map(({ status }) => status), ["VERIFIED"]);
  for (const page of [desktop, phone]) page.kept();
});

test("without consent no picture is taken", async () => {
  const { page, session } = await offered([], { javaScriptEnabled: false });
  await part(page, "way-photo").click();
  await sees(page, "screen-photo");
  await sees(page, "no-script");
  assert.equal(await part(page, "continue").count(), 0);
  await part(page, "other-way").click();
  await ends(page);
  await sees(page, "screen-fallback");
  assert.equal(await session.status(), "FALLBACK");
});

test("the pages of the photo way are accessible, and fit a small screen", async () => {
  const { page } = await offered([], { viewport: { width: 360, height: 740 } });
  await isAccessible(page);
  await part(page, "way-photo").click();
  await sees(page, "screen-photo");
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await isAccessible(page);
  }
  await fitsWidth(page);
  await part(page, "compare").check();
  await part(page, "continue").click();
  await sees(page, "screen-primer");
  await isAccessible(page);
  await fitsWidth(page);
  await openCamera(page);
  await sees(page, "screen-live");
  await isAccessible(page);
  await fitsWidth(page);
  page.kept();
});

test("nothing of a document or a face reaches disk, database or log", async () => {
  const { page } = await offered(["--birth", "1987-06-05"]);
  await films(page);
  await passes(page);
  // As the passport writes them, as programs do, and how a picture and a descriptor begin.
  // Fractions of a second, IDs and random keys have such digits and letters by chance.
  const traces = [/(?<![.\da-f])870605/, /1987-06-05/, /P<[A-Z<]{6}/, /descriptor/, /birth_date/, /\xff\xd8\xff/];
  const look = () => {
    const files = readdirSync(gateway.data, { recursive: true, withFileTypes: true }).filter((f) => f.isFile());
    const written = files.map((f) => [f.name, readFileSync(join(f.parentPath ?? f.path, f.name), "latin1")]);
    for (const [name, text] of [...written, ["the log", gateway.log]]) {
      for (const trace of traces) assert.ok(!trace.test(text), `${name} holds ${trace}`);
    }
  };
  look();
  await gateway.halt();
  look();
});
