// A row that hangs fails alone: its pages are closed, the next row runs, and
// the file ends with everything it started.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { eventually, start } from "./lib/gateway.mjs";
import { test } from "./lib/row.mjs";

test("a row that waits for ever", async () => {
  const { NODE_TEST_CONTEXT, ...env } = process.env; // or it would report to the runner of this file
  const file = fileURLToPath(new URL("lib/hanging.mjs", import.meta.url));
  const child = start(process.execPath, ["--test", "--test-reporter=tap", file], { env: { ...env, E2E_LEAVING: "2000" }, stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (said += text));
  await eventually("the file ends", () => child.exitCode !== null);
  assert.equal(child.exitCode, 1);
  for (const line of [/not ok \d+ - waits for ever/, /test timed out after 15000ms/, /\n *ok \d+ - goes on/, /still held .*ProcessWrap/]) assert.match(said, line);
  const left = Number(said.match(/left (\d+)/)[1]);
  await eventually("the program that it left is gone", () => {
    try {
      return process.kill(left, 0) && false;
    } catch {
      return true;
    }
  });
});
