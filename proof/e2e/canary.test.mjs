// Pictures live in memory only: a canary hidden in every one that is sent is
// found neither in the data directory nor in the log.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { launch, visitor } from "./lib/browser.mjs";
import { perform } from "./lib/camera.mjs";
import { startGateway } from "./lib/gateway.mjs";
import { test } from "./lib/row.mjs";
import { gets, passes, sees, toCamera } from "./lib/walk.mjs";

test("no byte of a picture reaches disk, database or log", async () => {
  const canary = `canary-${randomUUID()}`;
  const gateway = await startGateway({ AGEGATE_LOG_LEVEL: "debug" });
  const browser = await launch();
  try {
    const tenant = gateway.tenant("--age-visibility");
    for (const [age, ends] of [[13, passes], [60, (page) => gets(page, () => sees(page, "screen-fallback"))]]) {
      const page = await visitor(browser);
      await perform(page, { canary });
      let sent = 0;
      page.on("websocket", (socket) =>
        socket.on("framesent", ({ payload }) => (sent += payload.includes(canary) ? 1 : 0)));
      await toCamera(page, (await gateway.session(tenant, { age })).url, { share: true });
      await ends(page);
      assert.ok(sent > 5, `only ${sent} pictures carried the canary`);
    }
    inspect(gateway, canary); // while it runs, with the database's journal next to it
    await gateway.halt();
    inspect(gateway, canary);
  } finally {
    await browser.close();
    await gateway.stop();
  }
});

function inspect(gateway, canary) {
  const files = readdirSync(gateway.data, { recursive: true, withFileTypes: true }).filter((f) => f.isFile());
  assert.ok(files.some((f) => f.name === "agegate.db"), "the database is in the data directory");
  const written = files.map((f) => [f.name, readFileSync(join(f.parentPath ?? f.path, f.name))]);
  for (const [name, bytes] of [...written, ["the log", Buffer.from(gateway.log)]]) {
    assert.equal(bytes.indexOf(canary), -1, `${name} holds the canary`);
    assert.equal(bytes.indexOf(Buffer.from([0xff, 0xd8, 0xff])), -1, `${name} holds the start of a JPEG`);
  }
}
