// Accessibility, as axe sees it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./gateway.mjs";

const axe = readFileSync(join(root, "node_modules/axe-core/axe.min.js"), "utf8");
const standard = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** Fails if axe finds something on a page, or could not decide. where is said in the failure. */
export async function isAccessible(page, where) {
  await page.waitForLoadState("domcontentloaded");
  await page.evaluate(axe);
  const { violations, incomplete } = await page.evaluate((tags) => axe.run({ runOnly: tags }), standard);
  // What axe could not measure is not passed over either.
  const found = [...violations, ...incomplete].flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.target} ${n.failureSummary}`));
  assert.deepEqual(found, [], where);
}
