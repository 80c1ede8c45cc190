// Accessibility, as axe sees it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./gateway.mjs";

const axe = readFileSync(join(root, "node_modules/axe-core/axe.min.js"), "utf8");
const standard = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** The rules of the standard that look at colours. */
const colours = { type: "rule", values: ["color-contrast", "link-in-text-block"] };

/**
 * Returns the rules for a page that is looked at in both themes. The dark one
 * changes nothing but colours, as a test in Go makes sure.
 */
export const rulesOf = (colorScheme) => (colorScheme === "dark" ? colours : standard);

/** Fails if axe finds something on a page, or within a part of it, or could not decide. where is said in the failure. */
export async function isAccessible(page, where, rules = standard, within = "html") {
  await page.waitForLoadState("domcontentloaded");
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  const options = { runOnly: rules, resultTypes: ["violations", "incomplete"] };
  const { violations, incomplete } = await page.evaluate(([within, how]) => axe.run(within, how), [within, options]);
  // What axe could not measure is not passed over either.
  const found = [...violations, ...incomplete].flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.target} ${n.failureSummary}`));
  assert.deepEqual(found, [], where);
}
