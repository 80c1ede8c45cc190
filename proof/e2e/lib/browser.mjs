// Chromium, and the rules every page of ours keeps: no request to another
// host, no violation of the page's own policy, no script error.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { patience, root, within } from "./gateway.mjs";

// The installed Chromium, else the one that `make chromium` fetched, which brings
// its own libraries and font.
const fetched = join(root, "internal/tools/chromium/node_modules/unpacked");
const installed = process.env.CHROMIUM ?? "/usr/bin/chromium";
const executablePath = existsSync(installed) ? installed : join(fetched, "chromium");
const libraries = { LD_LIBRARY_PATH: join(fetched, "al2023/lib"), FONTCONFIG_FILE: join(fetched, "fonts/fonts.conf") };

/** Starts Chromium with a fake camera device; args are added to its own. */
export async function launch(...args) {
  if (!existsSync(executablePath)) throw new Error(`${installed} is missing: install Chromium, or run make chromium`);
  return chromium.launch({
    executablePath,
    env: executablePath === installed ? process.env : { ...process.env, ...libraries },
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", "--use-fake-ui-for-media-stream",
      "--use-fake-device-for-media-stream", ...args,
    ],
  });
}

/**
 * Opens a visitor of their own: a fresh profile with one page. The returned
 * page has a method kept() that fails if a rule was broken so far.
 *   hosts     origins that may be asked, besides the page's own
 *   broken    a pattern of console errors that this test provokes
 */
export async function visitor(browser, { hosts = [], broken = /^$/, camera = true, ...options } = {}) {
  const context = await browser.newContext({
    permissions: camera ? ["camera"] : [],
    viewport: { width: 1280, height: 800 },
    ...options,
  });
  context.setDefaultTimeout(patience); // of the pages that open by themselves, too
  if (camera) shoppers.push({ context, since: performance.now() });
  const page = await context.newPage();
  watch(page, hosts, broken);
  return page;
}

const shoppers = []; // the open profiles with a camera

/**
 * Closes the profiles with a camera that were opened since a time, which ends
 * every wait in them.
 */
export async function closeShoppers(since) {
  const first = shoppers.findIndex((shopper) => shopper.since >= since);
  if (first < 0) return;
  const closed = shoppers.splice(first).map(({ context }) => context.close().catch(() => {})); // with its browser, too
  await within(30_000, "the profiles close", Promise.all(closed)).catch(() => {}); // else the file goes on without them
}

/** Adds another page of the same profile. */
export async function anotherTab(page, { hosts = [], broken = /^$/ } = {}) {
  const tab = await page.context().newPage();
  watch(tab, hosts, broken);
  return tab;
}

function watch(page, hosts, broken) {
  const breaches = [];
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol === "data:" || url.protocol === "blob:") return;
    const allowed = ["localhost", ...hosts];
    if (!allowed.includes(url.hostname)) breaches.push(`request to ${url.origin}`);
  });
  page.on("pageerror", (error) => breaches.push(`script error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" && !broken.test(message.text())) breaches.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.kept = () => assert.deepEqual(breaches, []);
}
