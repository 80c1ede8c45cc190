// Little room: in the languages that are looked at the guidance, the offer of more time and the
// picture are in view together, and the picture stays in view beside the
// explanation of a complaint.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { visitor } from "./lib/browser.mjs";
import { perform } from "./lib/camera.mjs";
import { root } from "./lib/gateway.mjs";
import { long, releasing, test } from "./lib/row.mjs";
import { browser, gateway, tenant } from "./lib/shared.mjs";
import { agreesToPhotograph, answersAlways, fitsWidth, isTold, openCamera, part, sees, toCamera, toPrimer } from "./lib/walk.mjs";

const locales = `${root}/templates/shopper/locales`;
/** All languages for a release, else one with long words, one from right to left and one without spaces. */
const languages = long ? readdirSync(locales).map((file) => file.replace(".json", "")) : ["de", "ar", "ja"];
const small = { width: 360, height: 560 };
const lying = { width: 740, height: 330 };
const enlarged = { width: 320, height: 256 }; // a laptop's window at 400 %

/** The edges of an element in the window, as the shopper sees them. */
const edges = (page, selector) =>
  page.evaluate((selector) => {
    const { top, bottom, left, right } = document.querySelector(selector).getBoundingClientRect();
    return { top, bottom, left, right, height: innerHeight };
  }, selector);

async function isInView(page, selector, what, least) {
  const { top, bottom, height } = await edges(page, selector);
  const seen = Math.min(bottom, height) - Math.max(top, 0);
  assert.ok(seen >= Math.min(bottom - top, least), `${what}: ${seen} pixels of ${selector} are in view`);
}

test("every prompt in every language, in the smallest windows", async (t) => {
  const message = { guidance: "ok", phase: "challenge", prompt: "up_left", hint: "other_way", done: 2, total: 4, remaining: 5000, more: true };
  const page = await visitor(browser, { viewport: small });
  await perform(page);
  await answersAlways(page, message);
  const url = (await gateway.session(tenant)).url;
  for (const [i, tag] of languages.entries()) {
    await t.test(tag, async () => {
      await page.goto(`${url}${i ? "/camera" : ""}?lang=${tag}`);
      if (!i) await part(page, "start").click();
      await part(page, "open-camera").click();
      await part(page, "more-time").waitFor();
      for (const size of [small, lying, enlarged]) {
        await page.setViewportSize(size);
        const what = `${tag}, ${size.width}×${size.height}`;
        await isInView(page, ".guidance", what, Infinity);
        await isInView(page, "#more-time", what, Infinity);
        assert.equal(await page.locator("#guidance-icon").isVisible(), false, `${what}: the only arrow is in the picture`);
        assert.ok(await page.locator("#cue svg").isVisible(), `${what}: the arrow in the picture`);
        await isInView(page, "#stage", what, 150);
        await fitsWidth(page);
      }
    });
  }
  page.kept();
});

test("the picture fills the card's edge on a phone that lies, and what is below the picture fits one that stands", async () => {
  const page = await visitor(browser, { viewport: { width: 740, height: 360 } });
  await perform(page, { devices: ["Front", "Back"] });
  await answersAlways(page, { guidance: "ok", phase: "challenge", prompt: "turn_left", done: 1, total: 4, remaining: 18_000, more: true });
  await toCamera(page, (await gateway.session(tenant)).url);
  await part(page, "more-time").locator("svg").waitFor();
  const [card, stage] = await Promise.all([".live", "#stage"].map((each) => edges(page, each)));
  assert.deepEqual([stage.top, stage.bottom], [card.top, card.bottom]);
  assert.ok(card.bottom < card.height, "the card ends in view");
  await page.setViewportSize({ width: 360, height: 740 });
  await isInView(page, ".live", "standing", Infinity);
  assert.equal(await part(page, "leave").isVisible(), false);
  await page.locator(".live summary").press("Enter");
  for (const each of ["cameras", "assisted", "leave"]) await part(page, each).waitFor();
  assert.equal(await page.locator("#tips li:visible").count(), 3);
  page.kept();
});

/** The longest of a language's texts about a document, as the server names it. */
function longest(tag) {
  const texts = Object.entries(JSON.parse(readFileSync(`${locales}/${tag}.json`, "utf8")));
  const guidance = ["show_zone", "other_document", "closer", "further", "dark", "glare", "zone_glare", "zone_covered", "blurred"].map((name) => `film.${name}`);
  const [[name]] = texts.filter(([key]) => guidance.includes(key)).sort(([, a], [, b]) => b.length - a.length);
  return name.replace("film.", "document.");
}

/** A visitor before the document's camera, and the message that answers each of its pictures. */
async function beforeDocument() {
  const message = { stage: "document", guidance: "ok", phase: "document", prompt: "", done: 0, total: 0, full: true };
  const page = await visitor(browser, { viewport: small });
  await perform(page);
  await answersAlways(page, message);
  const { url } = await gateway.session(gateway.tenant("--document-check"));
  await page.goto(`${url}?force=fallback`);
  await agreesToPhotograph(page);
  return { page, url, message };
}

test("the longest guidance about a document in every language, in the smallest windows", async (t) => {
  const { page, url, message } = await beforeDocument();
  for (const tag of languages) {
    await t.test(tag, async () => {
      message.guidance = longest(tag);
      await page.goto(`${url}/photo?lang=${tag}`);
      await part(page, "open-camera").click();
      await isTold(page, message.guidance);
      for (const size of [small, lying, enlarged]) {
        await page.setViewportSize(size);
        const what = `${tag}, ${size.width}×${size.height}`;
        await isInView(page, ".guidance", what, Infinity);
        await isInView(page, "#stage", what, 150);
        await fitsWidth(page);
      }
    });
  }
  page.kept();
});

test("the picture stays in view next to an explanation, to its end", async () => {
  const page = await visitor(browser, { viewport: lying });
  await perform(page, { places: [] });
  await answersAlways(page, { guidance: "covered", phase: "framing", prompt: "", done: 0, total: 4 });
  await toCamera(page, (await gateway.session(tenant)).url);
  await part(page, "help").locator("h2").waitFor();
  for (const way of ["use-phone", "without-camera"]) await part(page, way).waitFor();
  assert.equal(await part(page, "help").locator("svg").count(), 1);
  for (const size of [lying, enlarged]) {
    await page.setViewportSize(size);
    for (const end of [".help", "#ways"]) {
      await page.evaluate((end) => document.querySelector(end).scrollIntoView({ block: "end" }), end);
      await isInView(page, "#stage", `${size.width}×${size.height}, at ${end}`, 150);
    }
    await fitsWidth(page);
  }
  await page.setViewportSize(small);
  await page.evaluate(() => scrollTo(0, 0));
  for (const each of [".guidance", "#stage", ".help h2", ".help svg"]) await isInView(page, each, "small", Infinity);
  const [guidance, stage, help, sound] = await Promise.all([".guidance", "#stage", ".help", "#sound"].map((each) => edges(page, each)));
  assert.ok(Math.abs(stage.top - guidance.bottom) < 1, "no empty row is above the picture");
  assert.ok(help.top - stage.bottom >= 8, "the explanation does not touch the picture");
  assert.ok(sound.top > stage.top && sound.bottom < stage.bottom, "the switch of the sounds lies in the picture");
  page.kept();
});

releasing("somebody who cannot move the head is offered the other ways while a blink is waited for", async () => {
  const page = await visitor(browser, { viewport: small });
  await perform(page, { still: true });
  await answersAlways(page, { guidance: "ok", phase: "challenge", prompt: "hold_still", done: 12, total: 13, full: true });
  await toPrimer(page, (await gateway.session(gateway.tenant("--document-check"))).url);
  await part(page, "assisted").click();
  await sees(page, "assisted-on");
  await openCamera(page);
  await isTold(page, "prompt.hold_still");
  await part(page, "help").locator("h2").waitFor();
  assert.match(await page.locator("#guidance-text").textContent(), /Blink normally/);
  assert.match(await part(page, "help").textContent(), /waiting to see you blink/);
  assert.ok(parseInt(await page.locator("#progress").evaluate((ring) => ring.style.strokeDasharray)) <= 50, "the ring is open");
  assert.equal(await page.locator("#guidance-icon circle").count(), 1, "an eye, no tick");
  await page.locator(".live summary").click();
  assert.equal(await page.locator("#tips li:visible").count(), 3);
  for (const way of ["use-phone", "without-camera", "leave"]) await part(page, way).waitFor();
  for (const tag of languages) {
    await page.goto(`${page.url().split("?")[0]}?assisted=1&lang=${tag}`);
    const said = await page.evaluate(() => ["title", "body"].map((part) => document.getElementById("texts").content.querySelector(`[data-key="help.sitting.${part}"]`)?.textContent));
    assert.ok(said.every(Boolean), tag);
  }
  page.kept();
});

test("the first page's main button in every language, below a logo, and nothing under it at the end", async (t) => {
  const shops = { "the camera": [], "a choice": ["--document-check"], "a document only": ["--document-check", "--document-only"] };
  for (const [what, flags] of Object.entries(shops)) {
    const shop = gateway.tenant(...flags);
    gateway.command("tenant", "set", shop.tenant_id, "--brand-logo", `${root}/docs/pictures/page-light.png`);
    const { url } = await gateway.session(shop);
    const page = await visitor(browser, { viewport: { width: 320, height: 568 } });
    for (const tag of languages) {
      await t.test(`${what}, ${tag}`, async () => {
        await page.goto(`${url}?lang=${tag}`);
        await page.locator(".shop img").evaluate((img) => img.decode());
        assert.ok(await isOnTop(page, "start"), "the button is in view");
        await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
        const ways = flags.length === 1 ? ["start", "prefer-document", "leave"] : ["start", "leave"];
        for (const way of ways) assert.ok(await isOnTop(page, way), `${way}, at the end`);
        await fitsWidth(page);
        await part(page, "languages").click();
        const { x, y, width } = await page.locator(".languages ul").boundingBox();
        assert.ok(x >= 0 && x + width <= 320 && y >= 0, `the list of languages is from ${x} to ${x + width}, at ${y}`);
        assert.ok(await page.locator(".languages ul").evaluate((list) => list.scrollHeight <= list.clientHeight), "the list is cut off");
      });
    }
    page.kept();
  }
});

test("the box and the button of the consent to a photograph in every language, and nothing under it at the end", async () => {
  const page = await visitor(browser, { viewport: { width: 320, height: 568 } });
  const { url } = await gateway.session(gateway.tenant("--document-check"));
  await page.goto(`${url}?force=fallback`);
  await part(page, "way-photo").click();
  for (const tag of languages) {
    await page.goto(`${url}/photo?lang=${tag}`);
    await part(page, "compare").scrollIntoViewIfNeeded();
    assert.ok(await isOnTop(page, "compare"), `${tag}: the button covers no box`);
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    for (const each of ["continue", "other-way", "leave"]) assert.ok(await isOnTop(page, each), `${tag}, at the end: ${each}`);
    await fitsWidth(page);
    await page.setViewportSize({ width: 360, height: 640 });
    await page.goto(page.url());
    assert.ok(await isOnTop(page, "compare") && await isOnTop(page, "continue"), `${tag}: both are in view`);
    await page.setViewportSize({ width: 360, height: 740 });
    await part(page, "continue").click();
    await sees(page, "consent-missing");
    const [words, button] = await Promise.all([".choice span", "[data-testid=continue]"].map((each) => edges(page, each)));
    assert.ok(words.bottom <= button.top - 12, `${tag}, without the tick: the button covers ${words.bottom - button.top + 12} pixels of the words`);
    await page.setViewportSize({ width: 320, height: 568 });
  }
  page.kept();
});

test("on a phone the main button of each page before the camera is in view, and a problem takes three lines", async () => {
  const page = await visitor(browser, { viewport: { width: 360, height: 740 } });
  const { url } = await gateway.session(gateway.tenant("--document-check"));
  const tall = {};
  const show = async (path, tag, button) => {
    await page.goto(`${url}${path}${path.includes("?") ? "&" : "?"}lang=${tag}`);
    assert.ok(await isOnTop(page, button), `${tag}, ${path}: ${button} is in view`);
  };
  for (const tag of languages) await show("", tag, "start");
  await page.goto(`${url}?force=fallback`);
  await agreesToPhotograph(page);
  for (const tag of languages) {
    await show("/photo", tag, "open-camera");
    await show("/photo?refused=doubtful", tag, "open-camera");
    const texts = JSON.parse(readFileSync(`${locales}/${tag}.json`, "utf8"));
    const left = texts["camera.remaining"].other.replace("{n}", "2");
    const reasons = ["again", "left", "astray", "unmoved", "hasty", "drawn"].map((why) => `${texts[`camera.${why}`]} <strong>${left}</strong>`);
    reasons.push(texts["camera.unsure"], texts["document.refused.doubtful"], `${texts["document.refused.undated"]} <strong>${left}</strong>`);
    const high = await part(page, "refused-doubtful").evaluate((note, reasons) => reasons.filter((words) => {
      note.innerHTML = words;
      const { lineHeight, paddingTop } = getComputedStyle(note);
      return note.offsetHeight - 2 * parseFloat(paddingTop) > 3.2 * parseFloat(lineHeight);
    }), reasons);
    if (high.length) tall[tag] = high;
  }
  assert.deepEqual(tall, {}, "problems of more than three lines");
  page.kept();
});

test("the footer stands in line with the card, from left and from right", async () => {
  const page = await visitor(browser, { viewport: { width: 1280, height: 800 } });
  const { url } = await gateway.session(gateway.tenant());
  for (const tag of ["en", "ar"]) {
    await page.goto(`${url}?lang=${tag}`);
    const [card, brand] = await Promise.all([".card", ".brand"].map((each) => page.locator(each).first().boundingBox()));
    assert.ok(brand.x >= card.x && brand.x + brand.width <= card.x + card.width, `${tag}: the footer leaves the card's edge`);
  }
  page.kept();
});

test("the button of the consent to share an estimate, and of the page that asks for a face again, in every language", async () => {
  const size = { width: 320, height: 568 };
  const page = await visitor(browser, { viewport: size });
  const { url } = await gateway.session(gateway.tenant("--age-visibility"));
  await page.goto(url);
  await part(page, "start").click();
  const filmed = await beforeDocument();
  await filmed.page.setViewportSize(size);
  Object.assign(filmed.message, { stage: "face", phase: "framing", total: 4, again: "unmoved" });
  for (const tag of languages) {
    await page.goto(`${url}?lang=${tag}`);
    await filmed.page.goto(`${filmed.url}/photo?lang=${tag}`);
    await openCamera(filmed.page);
    await sees(filmed.page, "screen-again");
    for (const [on, button] of [[page, "continue"], [filmed.page, "show-face"]]) {
      assert.ok(await isOnTop(on, button), `${tag}: ${button} is in view`);
      await on.evaluate(() => scrollTo(0, document.body.scrollHeight));
      const gap = await part(on, button).evaluate((b) => b.getBoundingClientRect().top - (b.previousElementSibling ?? b.parentElement.previousElementSibling).getBoundingClientRect().bottom);
      assert.ok(gap >= 12, `${tag}: the ground of ${button} covers the text above it, ${gap} pixels away`);
      assert.ok(await isOnTop(on, button) && await on.evaluate(() => scrollY + innerHeight >= document.body.scrollHeight - 1), `${tag}: ${button}, at the end`);
      await fitsWidth(on);
    }
  }
  for (const each of [page, filmed.page]) each.kept();
});

test("the code for another device in every language, whole in a computer's window", async () => {
  const page = await visitor(browser, { viewport: { width: 1440, height: 900 } });
  await toPrimer(page, (await gateway.session(tenant)).url);
  await part(page, "use-phone").click();
  await sees(page, "handover-waiting");
  const address = page.url();
  const high = {};
  for (const tag of languages) {
    await page.goto(`${address}?lang=${tag}`);
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    if (height > 900) high[tag] = height;
    await sees(page, "local"); // what runs on localhost says that no other device reaches it
  }
  assert.deepEqual(high, {});
  const phone = await visitor(browser, { viewport: { width: 360, height: 740 } });
  const link = await page.locator("#address").textContent();
  for (const tag of languages) {
    await phone.goto(`${link}?lang=${tag}`);
    for (const each of ["code", "codes-match"]) assert.ok(await isOnTop(phone, each), `${tag}, on the phone: ${each} is in view`);
    await isInView(phone, "h2", `${tag}, the age asked for`, Infinity);
    await fitsWidth(phone);
  }
  phone.kept();
  page.kept();
});

/** Whether all of an element is in the window, and its corners and middle are hit by a click. */
const isOnTop = (page, id) =>
  page.locator(`[data-testid="${id}"]`).evaluate((button) => {
    const { left, right, top, bottom } = button.getBoundingClientRect();
    const points = [[left + 16, top + 4], [right - 16, bottom - 4], [(left + right) / 2, (top + bottom) / 2]];
    return top >= 0 && bottom <= innerHeight && points.every(([x, y]) => button.contains(document.elementFromPoint(x, y)));
  });

test("a tilt is shown by the frame around the document, whole in every window, and still where motion is not wanted", async () => {
  const { page, message } = await beforeDocument();
  await openCamera(page);
  const frame = () => page.locator(".outline").evaluate((outline) => {
    const style = getComputedStyle(outline);
    const [stage, drawn] = [outline.parentElement, outline.querySelector(".rim")].map((e) => e.getBoundingClientRect());
    const inside = drawn.left >= stage.left && drawn.right <= stage.right && drawn.top >= stage.top && drawn.bottom <= stage.bottom;
    return { rotate: style.rotate, moves: style.animationName !== "none", inside };
  });
  for (const [edge, rotate] of [["left", "y 30deg"], ["right", "y -30deg"], ["top", "x -30deg"], ["bottom", "x 30deg"]]) {
    message.prompt = `document.raise_${edge}`;
    await isTold(page, `prompt.document.raise_${edge}`);
    await page.emulateMedia({ reducedMotion: "no-preference" });
    assert.ok((await frame()).moves, edge);
    await page.emulateMedia({ reducedMotion: "reduce" });
    for (const size of [{ width: 320, height: 568 }, { width: 390, height: 844 }, { width: 768, height: 1024 }, { width: 1440, height: 900 }]) {
      await page.setViewportSize(size);
      assert.deepEqual(await frame(), { rotate, moves: false, inside: true }, `${edge} at ${size.width}`);
    }
  }
  message.prompt = "document.hold_still";
  await isTold(page, "prompt.document.hold_still");
  assert.equal((await frame()).rotate, "none");
  await page.locator(".live summary").click();
  assert.ok(await part(page, "leave").isVisible());
  assert.equal(await part(page, "assisted").isVisible(), false, "no head moves yet");
  page.kept();
});
