// The pictures of the README, from the running product, light and dark:
//   make pictures
// writes docs/pictures/{page,dashboard}-{light,dark}.png.
import { mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { launch, visitor } from "./lib/browser.mjs";
import { root, startGateway } from "./lib/gateway.mjs";
import { fill, person } from "./lib/staff.mjs";
import { part, toPrimer } from "./lib/walk.mjs";

const dir = join(root, "docs/pictures");
mkdirSync(dir, { recursive: true });
const gateway = await startGateway({}, { terminal: true });
const browser = await launch();

async function take(page, name) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.screenshot({ path: join(dir, `${name}-${colorScheme}.png`) });
  }
}

try {
  const phone = await visitor(browser, { viewport: { width: 390, height: 720 } });
  const session = await gateway.session(gateway.tenant("--name", "Corner Cellar"), { live: true });
  await toPrimer(phone, session.url);
  await take(phone, "page");

  const desk = await person(browser, { viewport: { width: 1100, height: 720 } });
  await desk.goto(await gateway.printed(/Set up the dashboard.*?(http\S+)/));
  await fill(desk, { name: "Ada", email: "ada@shop.example" });
  await part(desk, "passkey").click();
  await part(desk, "make-session").first().waitFor();
  await desk.reload();
  await take(desk, "dashboard");
} finally {
  await browser.close();
  await gateway.stop();
}
const taken = readdirSync(dir).filter((file) => file.endsWith(".png"));
const size = taken.reduce((sum, file) => sum + statSync(join(dir, file)).size, 0);
if (size > 300_000) throw new Error(`the pictures take ${size} bytes together, more than 300,000`);
