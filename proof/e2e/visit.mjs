// An honest visitor of a gateway that runs elsewhere: a real browser goes through
// the camera check of a session until it is sent to the shop, which need not exist.
//   node proof/e2e/visit.mjs VERIFICATION_URL
import { launch, visitor } from "./lib/browser.mjs";
import { perform } from "./lib/camera.mjs";
import { gets, toCamera } from "./lib/walk.mjs";

const browser = await launch();
try {
  const page = await visitor(browser);
  await perform(page);
  await toCamera(page, process.argv[2]);
  const passed = page.waitForRequest((request) => new URL(request.url()).searchParams.get("status") === "VERIFIED");
  await gets(page, () => passed);
} finally {
  await browser.close();
}
