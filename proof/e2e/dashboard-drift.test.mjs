// Drift: what an operator sees without a reference, and with estimates that are far
// from theirs.
// E2E_SHOTS=DIR writes a picture of every state, in both sizes and themes.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { launch } from "./lib/browser.mjs";
import { startGateway } from "./lib/gateway.mjs";
import { after, before, test } from "./lib/row.mjs";
import { agegate, fill, look, person, sawItsPages } from "./lib/staff.mjs";
import { part } from "./lib/walk.mjs";

let gateway, browser, page;
before(async () => {
  gateway = await startGateway({ AGEGATE_ESTIMATOR: "off" });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
});

// stored writes the state of drift into the database, as 500 checks would.
function stored(state, hours) {
  const write = `import json, sqlite3, sys
db, (state, hours) = sqlite3.connect(sys.argv[1], timeout=30), json.loads(sys.argv[2])
db.execute("INSERT INTO drift_state (id, raised, state) VALUES (1, 0, ?) ON CONFLICT (id) DO UPDATE SET state = excluded.state", [json.dumps(state)])
for hour, family, counts in hours:
    db.execute("INSERT INTO drift_hours (hour, family, estimator, checks, estimates, counts) VALUES (?, ?, '', ?, ?, ?)", [hour, family, sum(counts["outcomes"]), sum(counts["ages"]), json.dumps(counts)])
db.commit()`;
  execFileSync("python3", ["-c", write, join(gateway.data, "agegate.db"), JSON.stringify([state, hours])]);
}

const now = new Date();
const measure = (reference, index, warning) => ({ reference, window: null, judged_at: now.toISOString(), judged: 812, index, warning, acting: index >= 0.25 ? warning : 0 });
const ages = [10, 40, 300, 900, 1200, 700, 300, 200, 80, 20], outcomes = [3750, 120, 40, 210];

test("an operator sees drift", async () => {
  page = await person(browser);
  await page.goto(agegate(gateway, "user", "setup-link"));
  await fill(page, { name: "Ada", email: "ada@gate.example" });
  await part(page, "passkey").click();
  await page.waitForURL((url) => url.pathname === "/operator");

  await page.goto(`${gateway.url}/operator/drift`);
  assert.match(await page.locator("main").textContent(), /There is no reference/);
  await look(page, "drift-none");

  const hour = now.toISOString().slice(0, 13).replace("T", " ") + ":00:00+00:00";
  stored({
    estimator: "e", frozen_at: now.toISOString(),
    families: {
      all: { ages: measure(ages, 0.141, 3), outcomes: measure(outcomes, 0.012, 0) },
      chrome_android: { ages: measure(ages, 0.412, 2), outcomes: measure(outcomes, 0.031, 0) },
      safari_ios: { ages: measure(ages, 0.018, 0), outcomes: measure(outcomes, 0.009, 0) },
    },
  }, [[hour, "chrome_android", { outcomes, ages }], [hour, "safari_ios", { outcomes, ages }]]);
  await page.reload();
  assert.match(await part(page, "drift-notice").textContent(), /far from their reference \(Chrome on Android\)/);
  assert.equal(await part(page, "drift-family").count(), 3);
  await look(page, "drift-far");
});

test("the pages were looked at", () => sawItsPages(import.meta.url));
