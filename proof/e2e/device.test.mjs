// The page with Chromium's own fake device, which plays a file: nothing in the
// page is replaced.
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { launch, visitor } from "./lib/browser.mjs";
import { video } from "./lib/camera.mjs";
import { scratch, startGateway } from "./lib/gateway.mjs";
import { after, before, test } from "./lib/row.mjs";
import { sampleJPEG } from "./lib/sample.mjs";
import { hears, openCamera, part, passes, sees, toCamera, toPrimer } from "./lib/walk.mjs";

let gateway, tenant, dir, browser;
before(async () => {
  dir = scratch();
  gateway = await startGateway();
  tenant = gateway.tenant();
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
  rmSync(dir, { recursive: true });
});

/** A visitor whose camera plays a file over and over. */
async function filmed(file) {
  await browser?.close();
  browser = await launch(`--use-file-for-fake-video-capture=${file}`);
  return visitor(browser);
}

test("a person who cannot move their head passes without prompts", async () => {
  const file = join(dir, "level.mjpeg");
  video(file, "level:20");
  const session = await gateway.session(tenant, { age: 13 });
  const page = await filmed(file);
  await toPrimer(page, session.url);
  await part(page, "assisted").click();
  await sees(page, "assisted-on");
  await openCamera(page);
  await passes(page);
  page.kept();
});

test("a photo before the camera is never taken for a person", async () => {
  const file = join(dir, "photo.mjpeg");
  writeFileSync(file, sampleJPEG());
  const session = await gateway.session(tenant, { age: 13 });
  const page = await filmed(file);
  const messages = hears(page);
  await toCamera(page, session.url);
  await sees(page, "screen-frozen");
  assert.ok(messages.some((m) => m.guidance === "ok"), "the photo was framed like a face"); // however briefly the page said so
  await sees(page, "use-phone");
  assert.deepEqual([...new Set(messages.map((m) => m.phase ?? "framing"))], ["framing"]);
  page.kept();
});
