// What row.test.mjs runs: a row that waits for something that never happens, one
// that follows it, and a program that nobody ends.
import assert from "node:assert/strict";
import { launch, visitor } from "./browser.mjs";
import { start } from "./gateway.mjs";
import { after, before, test } from "./row.mjs";

let browser, waiting;
before(async () => {
  browser = await launch();
  console.log(`left ${start("sleep", ["600"]).pid}`);
});
after(() => browser?.close());

test("waits for ever", { timeout: 15_000 }, async () => {
  const page = await visitor(browser);
  waiting = page.evaluate(() => new Promise(() => {})).catch(() => "ended");
  await waiting.then(() => new Promise(() => {}));
});

test("goes on", async () => {
  assert.equal(await waiting, "ended");
  assert.equal(browser.contexts().length, 0);
});
