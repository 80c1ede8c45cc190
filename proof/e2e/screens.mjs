// Pictures of every screen of the hosted page, to be looked at:
//   make build && node proof/e2e/screens.mjs DIR [NAME...]
// writes NAME-WIDTHxHEIGHT-THEME.png for each screen, or for those named.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launch, visitor } from "./lib/browser.mjs";
import { startGateway } from "./lib/gateway.mjs";
import { tour } from "./lib/tour.mjs";

const sizes = [[360, 740], [390, 844], [740, 330], [320, 256], [1440, 900]];

const [dir, ...wanted] = process.argv.slice(2);
if (!dir) throw new Error("name the directory for the pictures");
mkdirSync(dir, { recursive: true });
const gateway = await startGateway();
const browser = await launch();
try {
  for (const [name, visit] of Object.entries(tour(gateway))) {
    if (wanted.length && !wanted.includes(name)) continue;
    const others = [];
    const page = await visitor(browser);
    await visit(page, async () => {
      others.push(await visitor(browser));
      return others.at(-1);
    });
    for (const [width, height] of sizes) {
      for (const colorScheme of ["light", "dark"]) {
        await page.setViewportSize({ width, height });
        await page.emulateMedia({ colorScheme });
        await page.screenshot({ path: join(dir, `${name}-${width}x${height}-${colorScheme}.png`), timeout: 60_000 });
      }
    }
    for (const other of [page, ...others]) await other.context().close();
    console.log(name);
  }
} finally {
  await browser.close();
  await gateway.stop();
}
