// The table of the camera step, without a browser.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "./lib/row.mjs";

const source = readFileSync(new URL("../../templates/shopper/static/machine.js", import.meta.url), "utf8");
const { rules, start } = await import(`data:text/javascript,${encodeURIComponent(source)}`);
const page = readFileSync(new URL("../../templates/shopper/camera.html", import.meta.url), "utf8");
const troubles = ["pages/shopper/camera", "rules/session/session"].map((file) =>
  readFileSync(new URL(`../../internal/${file}.go`, import.meta.url), "utf8")).join();

test("every event leads to a state, and every state can be reached", () => {
  const reached = new Set(["primer"]);
  for (const state of reached) {
    for (const [event, next] of Object.entries(rules[state].on)) {
      assert.ok(rules[next], `${state}, ${event}: no state ${next}`);
      reached.add(next);
    }
  }
  assert.deepEqual(Object.keys(rules).filter((state) => !reached.has(state)), []);
});

test("every screen of a state is on the page", () => {
  for (const [state, { screen }] of Object.entries(rules)) {
    if (screen) assert.ok(page.includes(`data-screen="${screen}"`) || troubles.includes(`"${screen}"`), `${state}: no screen ${screen}`);
  }
});

test("every state can be left: by an event, or by leaving the page", () => {
  for (const [state, { on }] of Object.entries(rules)) {
    assert.equal(on.restored, "leaving", state);
    if (state !== "away") assert.equal(on.pagehide, "away", state);
  }
});

test("a state without the camera is never led to a stream directly", () => {
  for (const [state, { camera, on }] of Object.entries(rules)) {
    for (const [event, next] of Object.entries(on)) {
      assert.ok(camera || !rules[next].stream, `${state}, ${event} → ${next}`);
    }
    assert.ok(camera || !rules[state].stream, state);
  }
});

/** How far each state has come. A state that is not here has a screen of its own, which says why the check stands. */
const steps = { primer: 0, opening: 1, paused: 1, starting: 2, connecting: 3, live: 4, leaving: 5 };
/** What the shopper does, who knows why: presses the button, chooses a camera, hides the tab or comes back to it. */
const acts = ["open", "picked", "hidden", "shown", "pagehide", "restored"];

test("no way back without a reason", () => {
  const back = Object.entries(rules).flatMap(([state, { on }]) => Object.entries(on)
    .filter(([event, next]) => steps[next] < steps[state] && !acts.includes(event))
    .map(([event, next]) => `${event} → ${next}`));
  // The only one shows the sentence on the page; what the server ends it explains itself, see setbacks_test.go.
  assert.deepEqual([...new Set(back)], ["unframed → primer"]);
  assert.equal(rules.probing.on.blocked, "blocked"); // the page that it would lead to knows of nothing
});

test("the machine enters what its table says, and ignores other events", () => {
  const entered = [];
  const { send, current } = start("primer", (state, event) => entered.push([state, event]));
  for (const event of ["answered", "open", "opened", "playing", "answered", "lost", "hidden", "online", "shown", "refused", "open"]) send(event);
  assert.deepEqual(entered, [
    ["primer", null], ["opening", "open"], ["starting", "opened"], ["connecting", "playing"], ["live", "answered"],
    ["network", "lost"], ["paused", "hidden"], ["opening", "shown"], ["refused", "refused"], ["opening", "open"],
  ]);
  assert.equal(current(), entered.length - 1);
});
