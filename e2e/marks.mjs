// How long one honest check takes in a real browser, from opening the page to
// the result, on this machine and over a slow network. Fails on a miss.
//   make build && node e2e/marks.mjs [CHECKS]
import { launch, visitor } from "./lib/browser.mjs";
import { perform } from "./lib/camera.mjs";
import { startGateway } from "./lib/gateway.mjs";
import { slowNetwork } from "./lib/slow.mjs";
import { openCamera, passes, toPrimer } from "./lib/walk.mjs";

const checks = Number(process.argv[2] ?? 11);

/** Returns the seconds that each of some checks took, in order of length. */
async function measure(url, count) {
  const gateway = await startGateway(url ? { AGEGATE_BASE_URL: url.url } : {});
  if (url) url.target = gateway.port;
  const browser = await launch();
  const times = [];
  try {
    const tenant = gateway.tenant();
    for (let n = 0; n < count; n++) {
      const session = await gateway.session(tenant, { age: 13 });
      const page = await visitor(browser);
      await perform(page);
      const start = performance.now();
      await toPrimer(page, session.url);
      await openCamera(page);
      await passes(page);
      times.push((performance.now() - start) / 1000);
      if ((await session.status()) !== "PASSED") throw new Error("an honest check did not pass");
      await page.context().close();
    }
  } finally {
    await browser.close();
    await gateway.stop();
  }
  return times.sort((a, b) => a - b);
}

const slow = await slowNetwork({ bytesPerSecond: 400_000 / 8, delay: 200 }); // 400 kbit/s, a round trip of 400 ms
const rows = [
  ["this machine", null, 8],
  ["400 kbit/s, 400 ms", slow, 15],
];
let missed = false;
for (const [name, url, mark] of rows) {
  const times = await measure(url, checks);
  const median = times[Math.floor(times.length / 2)];
  missed ||= median > mark;
  console.log(`${name}: p50 ${median.toFixed(1)} s, fastest ${times[0].toFixed(1)} s, slowest ${times.at(-1).toFixed(1)} s of ${times.length}; mark ${mark} s${median > mark ? ", missed" : ""}`);
}
await slow.close();
process.exitCode = missed ? 1 : 0;
