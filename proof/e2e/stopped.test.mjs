// A server that stops while a camera check runs.
import assert from "node:assert/strict";
import { visitor } from "./lib/browser.mjs";
import { perform } from "./lib/camera.mjs";
import { eventually, startGateway } from "./lib/gateway.mjs";
import { test } from "./lib/row.mjs";
import { browser } from "./lib/shared.mjs";
import { hears, part, sees, toCamera } from "./lib/walk.mjs";

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
    assert.match(await part(page, "again").innerText(), /service is busy.* 5 attempts left/);
    page.kept();
  } finally {
    await other.stop();
  }
});
