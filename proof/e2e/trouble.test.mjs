// Every way in which a camera or a connection fails, and the way on from each.
import assert from "node:assert/strict";
import { anotherTab, launch, visitor } from "./lib/browser.mjs";
import { direct, isFilming, perform, unplug } from "./lib/camera.mjs";
import { eventually, startGateway } from "./lib/gateway.mjs";
import { after, before, test } from "./lib/row.mjs";
import { answersAlways, hears, openCamera, part, passes, sees, toCamera, toPrimer } from "./lib/walk.mjs";

let gateway, tenant, browser;
before(async () => {
  gateway = await startGateway();
  tenant = gateway.tenant();
  browser = await launch("--host-resolver-rules=MAP age.test 127.0.0.1");
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
});

const link = async () => (await gateway.session(tenant, { age: 13 })).url;

/** A shopper who stands still before the running camera. */
async function filmed({ actor = {}, ...options } = {}) {
  const page = await visitor(browser, options);
  await perform(page, { places: [], ...actor });
  return page;
}

/** The button of the trouble screen that is shown. */
const action = (page) => page.locator('[data-screen]:visible [data-do="open"]');

const failures = [
  { name: "no camera", error: "NotFoundError", screen: "missing" },
  { name: "permission refused", error: "NotAllowedError", screen: "refused" },
  { name: "camera used by another program", error: "NotReadableError", screen: "in_use" },
  { name: "some other failure", error: "UnknownError", screen: "failed" },
  {
    name: "inside another app", error: "NotAllowedError", screen: "embedded",
    userAgent: "Mozilla/5.0 (Linux; Android 16; wv) AppleWebKit/537.36 Chrome/156.0 Mobile Safari/537.36",
  },
];
for (const { name, error, screen, ...options } of failures) {
  test(`${name}: says so, to the server too, offers a phone, and tries again`, async () => {
    const page = await filmed({ actor: { refusal: error }, ...options });
    const told = page.waitForResponse((answer) => answer.url().endsWith(`/trouble/${screen}`));
    await toCamera(page, await link());
    await sees(page, `screen-${screen}`);
    assert.equal((await told).status(), 204);
    await sees(page, "use-phone");
    await sees(page, "leave");
    await direct(page, { refusal: null });
    await action(page).click();
    await sees(page, "screen-live");
    page.kept();
  });
}

test("no secure page: says so", async () => {
  const page = await filmed({ hosts: ["age.test"] });
  await toCamera(page, (await link()).replace("localhost", "age.test"));
  await sees(page, "screen-insecure");
  await sees(page, "leave");
  page.kept();
});

test("frozen: says so, offers a phone, and goes on when the picture moves", async () => {
  const page = await filmed({ actor: { places: null, still: true, frozen: true } });
  await toCamera(page, await link());
  await sees(page, "screen-frozen");
  assert.equal(await isFilming(page), false);
  await sees(page, "use-phone");
  await sees(page, "leave");
  await direct(page, { still: false, frozen: false });
  await action(page).click();
  await passes(page);
  page.kept();
});

/** What browsers that protect against fingerprinting give for a picture. */
const protections = {
  "no answer": () => {},
  "nothing": (done) => done(null),
  "an error": () => {
    throw new DOMException("", "SecurityError");
  },
  "a PNG": (done, canvas, encode) => encode(canvas, done, "image/png"),
  "noise": (done, canvas, encode) => {
    const noise = new ImageData(canvas.width, canvas.height);
    for (let i = 0; i < noise.data.length; i++) noise.data[i] = i % 4 === 3 ? 255 : Math.random() * 256;
    canvas.getContext("2d").putImageData(noise, 0, 0);
    encode(canvas, done, "image/jpeg");
  },
  "white": (done, canvas, encode) => {
    canvas.getContext("2d").fillStyle = "#fff";
    canvas.getContext("2d").fillRect(0, 0, canvas.width, canvas.height);
    encode(canvas, done, "image/jpeg");
  },
};

/**
 * Lets a page take pictures as a browser with a protection gives them, from the
 * picture with a number on, until window.__protected is false.
 */
const protect = (page, give, from = 0) =>
  page.addInitScript(`{
    const real = HTMLCanvasElement.prototype.toBlob;
    const encode = (canvas, done, type) => real.call(canvas, done, type, 0.8);
    const give = ${give};
    let taken = 0;
    window.__protected = true;
    HTMLCanvasElement.prototype.toBlob = function (done, type, quality) {
      if (!window.__protected || taken++ < ${from}) real.call(this, done, type, quality);
      else give(done, this, encode);
    };
  }`);

/** Expects the screen that names the browser as the cause, and the way on from it. */
async function readsAgain(page) {
  await sees(page, "screen-unreadable");
  assert.equal(await isFilming(page), false);
  await sees(page, "link-first");
  await sees(page, "use-phone");
  await sees(page, "without-camera");
  await sees(page, "leave");
  await page.evaluate(() => (window.__protected = false));
  await action(page).click();
  await sees(page, "screen-live");
}

for (const [name, give] of Object.entries(protections)) {
  test(`the browser gives ${name} for a picture: says so, and offers other ways`, async () => {
    const page = await filmed();
    await protect(page, give);
    await toCamera(page, await link());
    await readsAgain(page);
    page.kept();
  });
}

test("the browser stops giving pictures: says so within seconds", async () => {
  const page = await filmed();
  await protect(page, protections.nothing, 5);
  await toCamera(page, await link());
  await sees(page, "screen-live");
  await readsAgain(page);
  page.kept();
});

test("no face in time: says so and offers the camera again", async () => {
  const page = await filmed();
  await answersAlways(page, { guidance: "no_face", phase: "framing", prompt: "", done: 0, total: 3 }, 3);
  await toCamera(page, await link());
  await sees(page, "again");
  assert.equal(await page.title(), "Try again");
  assert.equal(await isFilming(page), false);
  await openCamera(page);
  await sees(page, "screen-live");
  page.kept();
});

test("before its script has come, the page lets nobody press the camera's button, but leave", async () => {
  const page = await filmed();
  let arrive;
  const held = new Promise((resolve) => (arrive = resolve));
  await page.route("**/camera.js", async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(await link(), { waitUntil: "commit" });
  await part(page, "start").click({ noWaitAfter: true });
  await part(page, "screen-primer").waitFor(); // its page is never whole
  assert.equal(await part(page, "open-camera").isDisabled(), true);
  await part(page, "leave").waitFor();
  arrive();
  await openCamera(page);
  await sees(page, "screen-live");
  page.kept();
});

test("the camera's button pressed twice opens one camera", async () => {
  const page = await filmed();
  await toPrimer(page, await link());
  await part(page, "open-camera").evaluate((button) => {
    button.click();
    button.click();
  });
  await sees(page, "screen-live");
  const running = () => page.evaluate(() => window.__streams.filter(({ stream }) => stream.active).length);
  await eventually("both presses were answered", () => page.evaluate(() => window.__streams.length === 2));
  await eventually("one camera is left", async () => (await running()) === 1);
  page.kept();
});

test("several cameras: one can be chosen", async () => {
  const page = await filmed({ actor: { devices: ["Front", "Back"] } });
  await toCamera(page, await link());
  await page.locator(".live summary").click();
  await part(page, "cameras").selectOption({ label: "Back" });
  const wanted = await eventually("the other camera was opened", () =>
    page.evaluate(() => window.__streams[1]?.constraints.video.deviceId?.exact));
  assert.equal(wanted, "camera-1");
  await sees(page, "screen-live");
  page.kept();
});

test("camera unplugged: says so and goes on when it is back", async () => {
  const page = await filmed();
  await toCamera(page, await link());
  await sees(page, "screen-live");
  await unplug(page);
  await sees(page, "screen-unplugged");
  await action(page).click();
  await sees(page, "screen-live");
  page.kept();
});

test("tab hidden: the camera goes off, and on again with the tab", async () => {
  const page = await filmed();
  await toCamera(page, await link());
  await sees(page, "screen-live");
  const hide = (hidden) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
  await hide(true);
  assert.equal(await isFilming(page), false);
  await hide(false);
  await eventually("the camera is on again", () => isFilming(page));
  await sees(page, "screen-live");
  page.kept();
});

test("server busy: the page waits and goes on by itself", async () => {
  const page = await filmed();
  let asked = 0;
  await page.routeWebSocket(/\/stream$/, (socket) => {
    if (asked++ === 0) socket.close({ code: 1013 });
    else socket.connectToServer();
  });
  await toCamera(page, await link());
  await sees(page, "screen-waiting");
  await sees(page, "screen-live");
  page.kept();
});

test("a place in line: the page says which, sends nothing, and goes on by itself", async () => {
  const page = await filmed();
  let line, sent = 0;
  const places = [3, 3, 2];
  await page.routeWebSocket(/\/stream$/, (socket) => {
    line = socket;
    socket.onMessage(() => sent++);
    socket.send(JSON.stringify({ place: places[0] }));
  });
  await toCamera(page, await link());
  await sees(page, "screen-queue");
  const place = part(page, "place");
  assert.equal(await place.innerText(), "You are number 3 in line");
  await place.evaluate((e) => {
    window.__told = 0;
    new MutationObserver(() => window.__told++).observe(e, { childList: true, characterData: true, subtree: true });
  });
  for (const n of places.slice(1)) line.send(JSON.stringify({ place: n }));
  await eventually("the line moves", async () => (await place.innerText()) === "You are number 2 in line");
  assert.equal(await page.evaluate(() => window.__told), 1, "the same place is not announced again");
  assert.equal(await isFilming(page), true);
  assert.equal(sent, 0);
  line.send(JSON.stringify({ nonce: "00".repeat(16), credit: 2 }));
  await sees(page, "screen-live");
  await eventually("the first two pictures", () => sent === 2);
  await page.evaluate(async () => {
    const preview = document.getElementById("preview");
    const end = performance.now() + 4000; // long before the page takes the silence for a lost connection
    for (let n = 0; n < 15 && performance.now() < end; n++) await new Promise((shown) => preview.requestVideoFrameCallback(shown));
  });
  assert.equal(sent, 2, "several pictures later there is still no credit for another");
  const answer = { seq: 0, guidance: "no_face", phase: "framing", prompt: "", hint: "", done: 0, total: 4, progress: 0, remaining: 0, more: false, full: false };
  line.send(JSON.stringify({ ...answer, credit: 3 }));
  await eventually("two pictures more", () => sent === 4);
  page.kept();
});

test("reload before the first prompt: the shopper begins again from the primer, and no attempt is lost", async () => {
  const page = await filmed();
  const told = hears(page);
  await toCamera(page, await link());
  await eventually("pictures are looked at", () => told.some(({ phase }) => phase === "framing"));
  await page.reload();
  await sees(page, "screen-primer");
  assert.equal(await part(page, "again").count(), 0, "an attempt is said to have ended");
  await openCamera(page);
  await sees(page, "screen-live");
  page.kept();
});

test("Back from the camera, and forward again: no dead end", async () => {
  const page = await filmed();
  const url = await link();
  await page.goto(gateway.shop);
  await toCamera(page, url);
  await sees(page, "screen-live");
  await page.goBack();
  await page.goForward();
  await eventually("a screen with a way on", () => part(page, "open-camera").or(part(page, "start")).isVisible());
  page.kept();
});

test("a second tab takes over, and the first can take it back", async () => {
  const first = await filmed();
  const url = await link();
  await toCamera(first, url);
  await sees(first, "screen-live");
  const second = await anotherTab(first);
  await perform(second, { places: [] });
  await second.goto(url);
  await openCamera(second);
  await sees(second, "screen-live");
  await sees(first, "screen-other_tab");
  assert.equal(await isFilming(first), false);
  await action(first).click();
  await sees(first, "screen-live");
  await sees(second, "screen-other_tab");
  first.kept();
  second.kept();
});

test("a second browser learns where the check was begun", async () => {
  const url = await link();
  const first = await filmed();
  await toPrimer(first, url);
  const second = await visitor(browser);
  await second.goto(url);
  await sees(second, "notice-elsewhere");
  await sees(second, "return");
  second.kept();
});

test("a reload in the middle of an attempt: the page says that it was left, and does not speak of light", async () => {
  const page = await filmed();
  await perform(page);
  const heard = hears(page);
  await toCamera(page, await link());
  await eventually("the challenge begins", () => heard.some(({ phase }) => phase === "challenge"));
  for (const left of [4, 3]) {
    await page.reload();
    assert.match(await part(page, "again").innerText(), new RegExp(`was interrupted[^]*${left}\\sattempts left`));
    if (left === 3) break;
    heard.length = 0;
    await openCamera(page);
    await eventually("the challenge begins", () => heard.some(({ phase }) => phase === "challenge"));
  }
  page.kept();
});

test("a tenant that is disabled meanwhile: the page says so after one stream", async () => {
  const shop = gateway.tenant();
  const page = await filmed({ broken: /403|WebSocket connection/ });
  await toPrimer(page, (await gateway.session(shop, { age: 13 })).url);
  gateway.command("tenant", "disable", shop.tenant_id, "--reason", "a test");
  let streams = 0;
  page.on("websocket", () => streams++);
  await openCamera(page);
  await sees(page, "notice-not_available");
  assert.equal(streams, 1);
  page.kept();
});

// Last, since it ends the gateway for a while.
test("network drop: the page goes on by itself and the person passes", async () => {
  const session = await gateway.session(tenant, { age: 13 });
  const page = await filmed({ broken: /WebSocket connection|ERR_CONNECTION|net::ERR/ });
  await toCamera(page, session.url);
  await sees(page, "screen-live");
  await gateway.halt("SIGKILL");
  await sees(page, "screen-network");
  await gateway.start();
  await sees(page, "screen-live");
  await direct(page, { places: null });
  await passes(page);
  assert.equal(await session.status(), "PASSED");
  page.kept();
});

test("the server stops in the middle of an attempt: the camera's page says why", async () => {
  const other = await startGateway({ AGEGATE_DRAIN: "0s" });
  try {
    const check = await other.session(other.tenant(), { age: 13 });
    const page = await visitor(browser, { broken: /ERR_CONNECTION_REFUSED/ });
    await perform(page);
    const heard = hears(page);
    await toCamera(page, check.url);
    await eventually("the challenge begins", () => heard.some(({ phase }) => phase === "challenge"));
    await other.halt();
    await sees(page, "screen-network");
    await other.start();
    await page.goto(check.url);
    assert.match(await part(page, "again").innerText(), /service does not answer[^]*5\sattempts left/);
    page.kept();
  } finally {
    await other.stop();
  }
});

test("something on the way lets no stream through: the page says so and offers other ways", async () => {
  const page = await filmed();
  await page.routeWebSocket(/\/stream$/, (socket) => socket.close());
  await toCamera(page, await link());
  await sees(page, "screen-network");
  await sees(page, "screen-blocked");
  for (const way of ["use-phone", "without-camera"]) await sees(page, way);
  page.kept();
});
