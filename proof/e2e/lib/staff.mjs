// Merchants' staff and operators at the dashboard, and its pages as everybody
// sees them.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { isAccessible, rulesOf } from "./axe.mjs";
import { visitor } from "./browser.mjs";
import { patience, root } from "./gateway.mjs";
import { long } from "./row.mjs";
import { fitsWidth, part, sees } from "./walk.mjs";

const sizes = [{ width: 360, height: 740 }, { width: 1440, height: 900 }];
const tablets = [768, 820];
const shots = process.env.E2E_SHOTS;
if (shots) mkdirSync(shots, { recursive: true });

export const passphrase = "four owls under a blue moon";

/** Runs a command of the operator of a gateway and returns what it prints. */
export const agegate = (gateway, ...args) =>
  execFileSync(process.env.AGEGATE_BIN ?? join(root, "bin/agegate"), args, { env: gateway.env, encoding: "utf8", timeout: patience }).trim();

/**
 * Opens a browser of somebody of their own, with a device that makes passkeys:
 * page.authenticator(method, params) is its WebAuthn domain.
 */
export async function person(browser, options = {}) {
  const page = await visitor(browser, { broken: /status of (403|404|409|410|413|422)/, camera: false, viewport: sizes[1], ...options });
  const device = await page.context().newCDPSession(page);
  await device.send("WebAuthn.enable");
  const { authenticatorId } = await device.send("WebAuthn.addVirtualAuthenticator", {
    options: { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
  });
  page.authenticator = (method, params = {}) => device.send(`WebAuthn.${method}`, { authenticatorId, ...params });
  return page;
}

/** Fills in the visible fields with these names. */
export async function fill(page, values) {
  for (const [name, value] of Object.entries(values)) await page.locator(`[name="${name}"]:visible`).fill(value);
}

/** Follows a link or button that asks for a confirmation, which comes as a dialog where the page's script has run. */
export async function asks(page, link) {
  await link.waitFor();
  await page.waitForLoadState("domcontentloaded");
  await link.click();
  await sees(page, "confirm");
}

/** Confirms, and waits for what the next page says of it. */
export async function confirms(page) {
  await part(page, "confirm").click();
  await part(page, "confirm").waitFor({ state: "detached" });
  await sees(page, "notice");
}

const looked = new Set();

/** The address of a part that the page's script keeps up to date. */
const partOfPage = /[?&]part=/;

const [phone, desktop] = sizes;
const looks = long
  ? sizes.flatMap((size) => [[size, "light"], [size, "dark"]])
  : [[phone, "light"], [desktop, "dark"]];

/**
 * Looks at a page as everybody sees it, at both widths, for a release each in both
 * themes: axe finds nothing, at most one action is the primary one, and nothing has to
 * be scrolled sideways, on tablets too. E2E_SHOTS=DIR writes a picture of each.
 */
export async function look(page, name) {
  await page.waitForLoadState("domcontentloaded");
  const asked = page.locator("dialog form"); // in the place of the page that it posts to
  looked.add(new URL(await asked.count() ? await asked.getAttribute("action") : page.url()).pathname);
  // A part that is replaced while axe reads the page confuses it.
  if (await page.locator("[data-live]").count()) {
    await page.route(partOfPage, (route) => route.fulfill({ status: 304 }));
    await page.waitForLoadState("networkidle"); // the part that was asked for before
  }
  for (const [size, colorScheme] of looks) {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    if (shots) await page.screenshot({ path: join(shots, `${name}-${size.width}-${colorScheme}.png`), fullPage: true });
    await isAccessible(page, `${name}, ${size.width} px, ${colorScheme}`, rulesOf(colorScheme));
    await fitsWidth(page);
    await setsButtons(page);
    const searches = await page.locator(".find").evaluateAll((all) => all.map((each) => each.checkVisibility()));
    assert.ok(searches.length < 2 && searches.every(Boolean), `${name}: the search is hidden at ${size.width} px, or not the only one`);
    assert.ok((await page.locator("main .button.primary:visible").count()) <= 1, `${name}: more than one primary action`);
  }
  for (const width of tablets) {
    await page.setViewportSize({ width, height: 1024 });
    await fitsWidth(page);
  }
  await page.setViewportSize(sizes[1]);
  await page.emulateMedia({ colorScheme: "light" });
  await page.unroute(partOfPage);
}

/** Fails if the rules of something else have changed how buttons place their icon and text. */
async function setsButtons(page) {
  const others = await page.locator("main .button:visible").evaluateAll((all) =>
    all.map((button) => getComputedStyle(button).display).filter((display) => !/^(inline-)?flex$/.test(display)));
  assert.deepEqual(others, [], "buttons that are not set in a line");
}

/**
 * Fails unless a file, given by its import.meta.url, has looked at every page
 * that pages.json has it look at. A test in Go compares that list with the routes.
 */
export function sawItsPages(file) {
  const pages = JSON.parse(readFileSync(join(root, "proof/e2e/pages.json"), "utf8"))[basename(file)];
  const unseen = pages.filter((pattern) => {
    const path = new RegExp(`^${pattern.replace(/:\w+/g, "[^/]+")}$`);
    return ![...looked].some((seen) => path.test(seen));
  });
  assert.deepEqual(unseen, []);
}
