// Attack species, each performed before the running page at a target age that
// the face itself would pass. Each ends in another attempt; where that must be
// a strike, "spoof", the second one ends the session.
import assert from "node:assert/strict";
import { visitor } from "./lib/browser.mjs";
import { perform, pictures } from "./lib/camera.mjs";
import { eventually } from "./lib/gateway.mjs";
import { test } from "./lib/row.mjs";
import { browser, gateway, tenant } from "./lib/shared.mjs";
import { gets, hears, passes, sees, toCamera } from "./lib/walk.mjs";

const adult = { age: 13 };
const directions = ["turn_left", "up_left", "look_up", "up_right", "turn_right", "down_right", "look_down", "down_left"];
const replies = (reply) => Object.fromEntries(directions.map((prompt, i) => [prompt, reply(i)]));
const opposite = replies((i) => directions[(i + 4) % 8]);
const nothing = replies(() => "level");

const species = [
  { name: "a still photo, held by hand", camera: () => ({ still: true, reply: nothing }), ends: "again" },
  { name: "a person who does not move", camera: () => ({ reply: nothing }), ends: "again", reason: "unmoved" },
  { name: "a recording in another order", camera: () => ({ reply: opposite }), ends: "again", reason: "astray" },
  { name: "a print, turned and tilted by hand", camera: () => ({ pictures: pictures("--flat") }), ends: "again" },
  { name: "pictures cut to the prompt", camera: () => ({ abrupt: true }), ends: "again" }, // a strike only when frames come fast enough to tell
  { name: "another head for the actions", camera: () => ({ stranger: pictures("--stranger") }), ends: "again" },
];

for (const { name, camera, ends, reason } of species) {
  test(`refused: ${name}`, async () => {
    const session = await gateway.session(tenant, adult);
    const page = await visitor(browser);
    await perform(page, camera());
    await toCamera(page, session.url);
    await sees(page, "again");
    const [said] = await page.$$eval('[data-testid="again"]', (notes) => notes.map((note) => note.textContent));
    assert.equal(/Slowly point your nose/.test(said), reason === "astray", said);
    if (reason === "unmoved") assert.match(said, /Point your nose further/);
    assert.equal(await session.status(), "PENDING");
    if (ends === "spoof") {
      await gets(page, () => sees(page, "screen-spoof"));
      assert.equal(await session.status(), "SPOOF");
    }
    page.kept();
  });
}

test("refused: the pictures of an earlier check, byte for byte", async () => {
  // The tape of an honest check that passed.
  const first = await gateway.session(tenant, adult);
  const witness = await visitor(browser);
  await perform(witness);
  let tape = [], asked = [];
  witness.on("websocket", (socket) => {
    [tape, asked] = [[], []]; // of the attempt that passes, which is the last
    socket.on("framesent", ({ payload }) => tape.push(payload.subarray(20).toString("base64")));
    socket.on("framereceived", ({ payload }) => asked.push(JSON.parse(payload)));
  });
  await toCamera(witness, first.url);
  await passes(witness);
  assert.equal(await first.status(), "PASSED");
  const order = firstPrompt(asked);

  // One check in a few asks for the same thing first; take one that does not.
  for (let tries = 0; tries < 20; tries++) {
    const session = await gateway.session(tenant, adult);
    const page = await visitor(browser);
    await perform(page, { tape });
    const heard = hears(page);
    await toCamera(page, session.url);
    const prompt = await eventually("a prompt", () => firstPrompt(heard));
    if (prompt === order) {
      await page.context().close();
      continue;
    }
    await sees(page, "again");
    assert.equal(await session.status(), "PENDING");
    page.kept();
    return;
  }
  assert.fail(`every check asked for ${order} first`);
});

const firstPrompt = (messages) => messages.find((m) => m.prompt && m.prompt !== "hold_still")?.prompt;

test("refused: messages that no page of ours sends", async () => {
  const session = await gateway.session(tenant, adult);
  const page = await visitor(browser);
  await perform(page);
  const tape = [];
  page.on("websocket", (socket) => socket.on("framesent", ({ payload }) => tape.push([...payload])));
  await toCamera(page, session.url);
  await eventually("pictures were sent", () => tape.length > 2);
  const foreign = tape[0]; // its nonce is that of the page's own connection

  const attempt = (kind) =>
    page.evaluate(
      ([kind, foreign]) =>
        new Promise((resolve) => {
          const link = document.getElementById("camera").dataset.stream;
          const socket = new WebSocket(new URL(link, location.href.replace("http", "ws")));
          socket.binaryType = "arraybuffer";
          socket.onclose = (event) => resolve(event.code);
          socket.onmessage = ({ data }) => {
            const nonce = Uint8Array.from(JSON.parse(data).nonce.match(/../g), (hex) => parseInt(hex, 16));
            const picture = (seq, jpeg = foreign.slice(20)) => Uint8Array.from([...nonce, 0, 0, 0, seq, ...jpeg]);
            switch (kind) {
              case "verdict": return socket.send(JSON.stringify({ verdict: "met", age: 40 }));
              case "foreign nonce": return socket.send(Uint8Array.from(foreign));
              case "skipped": return socket.send(picture(5));
              case "short": return socket.send(nonce.slice(0, 7));
              case "huge": {
                const message = new Uint8Array(20 + (1 << 20) + 1);
                message.set(nonce);
                return socket.send(message);
              }
            }
          };
        }),
      [kind, foreign],
    );
  // A stream of less than a second is not taken over yet: 1013, come again.
  const code = async (kind) => {
    let got;
    await eventually("the stream was taken over", async () => (got = await attempt(kind)) !== 1013);
    return got;
  };
  assert.equal(await code("verdict"), 1003);
  assert.equal(await code("foreign nonce"), 1008);
  assert.equal(await code("skipped"), 1008);
  assert.equal(await code("short"), 1008);
  assert.equal(await code("huge"), 1009);
  assert.equal(await session.status(), "PENDING");
});
