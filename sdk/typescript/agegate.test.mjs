import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { AgegateError, Client, verifyRedirect, verifyWebhook } from "./index.js";

const vectors = JSON.parse(readFileSync(new URL("../vectors.json", import.meta.url), "utf8"));

/** What a call gives, at a time: accepted, refused, or an error that names the secret. */
async function outcome(now, call) {
  const clock = Date.now;
  Date.now = () => now * 1000;
  try {
    return await call() ? "accepted" : "refused";
  } catch (error) {
    assert(error instanceof TypeError && /32 bytes/.test(error.message), error);
    return "secret";
  } finally {
    Date.now = clock;
  }
}

test("known answers", async () => {
  assert(vectors.redirects.length >= 40 && vectors.webhooks.length >= 25);
  for (const v of vectors.redirects) {
    assert.equal(await outcome(v.now, () => verifyRedirect(v.query, v.session, ...v.secrets)), v.want, v.name);
  }
  for (const v of vectors.webhooks) {
    for (const raw of [v.body, Buffer.from(v.body)]) {
      assert.equal(await outcome(v.now, () => verifyWebhook(v.headers, raw, v.secret)), v.want, v.name);
    }
    if (/[^\0-\xff]/.test(JSON.stringify(v.headers))) continue;
    assert.equal(await outcome(v.now, () => verifyWebhook(new Headers(v.headers), v.body, v.secret)), v.want, v.name);
  }
  await assert.rejects(verifyRedirect("", "", undefined), TypeError);
  await assert.rejects(verifyWebhook({}, "", undefined), TypeError);
  const { headers, body, secret } = vectors.webhooks.find((v) => v.want === "accepted");
  for (const parsed of [JSON.parse(body), null, undefined]) {
    await assert.rejects(verifyWebhook(headers, parsed, secret), { name: "TypeError", message: /Pass the raw body/ });
  }
});

const answering = (status, body, headers = {}) => {
  const sent = [];
  const client = new Client("https://age.example.com/", "svc_test_x", async (url, init) => {
    sent.push([init.method, `${url}`, init.headers.get("X-API-Key"), init.headers.get("Idempotency-Key"), init.body, init.redirect].join(" "));
    return new Response(body, { status, headers });
  });
  return { client, sent };
};

test("requests", async () => {
  const { client, sent } = answering(200, "{}");
  await client.createSession({ target_age: 18 }, { idempotencyKey: "k1" });
  await client.getSessionStatus("a/b");
  await client.listTestEvents({ sessionId: "s", wait: 4 });
  await client.moveTestClock("s", { expire: "redirect" });
  assert.deepEqual(sent, [
    'POST https://age.example.com/api/v1/sessions/create svc_test_x k1 {"target_age":18} manual',
    "GET https://age.example.com/api/v1/sessions/a%2Fb/status svc_test_x   manual",
    "GET https://age.example.com/api/v1/test/events?session_id=s&wait=4 svc_test_x   manual",
    'POST https://age.example.com/api/v1/test/sessions/s/clock svc_test_x  {"expire":"redirect"} manual',
  ]);
  for (const [url, key] of [["", "svc_test_x"], ["age.example.com", "svc_test_x"], ["https://age.example.com", ""]]) {
    assert.throws(() => new Client(url, key), TypeError);
  }
});

test("refusals", async () => {
  const text = (status, body) => answering(status, body, { "X-Request-ID": "R1", "Retry-After": "5" }).client.getSessionStatus("s")
    .then(() => assert.fail("no refusal"), (error) => {
      assert(error instanceof AgegateError && error.requestId === "R1" && error.retryAfter === 5);
      return error.message;
    });
  assert.equal(await text(401, '{"detail":"Invalid API key"}'), "401 Invalid API key (request R1)");
  assert.equal(await text(402, '{"detail":{"code":"insufficient_credit","message":"Top up."}}'), "402 Top up. (request R1)");
  assert.equal(await text(422, '{"detail":[{"type":"missing","loc":["body","target_age"]}]}'), "422 missing at body.target_age (request R1)");
  assert.equal(await text(502, "<html>"), "502  (request R1)");
  assert.equal(await text(302, ""), "302  (request R1)");
});

test("the help", async () => {
  const headers = { Link: '</docs/errors#invalid>; rel="help"' };
  const answer = new Response('{"detail":"Invalid API key"}', { status: 401, headers });
  Object.defineProperty(answer, "url", { value: "https://age.example.com/api/v1/sessions/s/status" });
  const help = "https://age.example.com/docs/errors#invalid";
  await assert.rejects(new Client("https://age.example.com", "svc_test_x", async () => answer).getSessionStatus("s"), {
    message: `401 Invalid API key, see ${help}`, help,
  });
});

test("no answer", async () => {
  const call = new Client("http://127.0.0.1:1", "svc_test_x").getSessionStatus("s");
  await assert.rejects(call, (error) => error instanceof AgegateError && error.status === 0 && error.cause instanceof TypeError
    && /^no answer: .*(ECONNREFUSED|bad port)/.test(error.message));
  const broken = new Client("https://age.example.com", "svc_test_x", async () => new Response(new ReadableStream({
    start: (stream) => stream.error(new Error("cut off")),
  })));
  await assert.rejects(broken.getSessionStatus("s"), { name: "AgegateError", status: 0, message: "no answer: cut off" });
});
