const { AGEGATE_URL, AGEGATE_API_KEY, SESSION_ID } = process.env;
const response = await fetch(`${AGEGATE_URL}/api/v1/test/sessions/${SESSION_ID}/clock`, {
  method: "POST",
  headers: { "X-API-Key": AGEGATE_API_KEY, "Content-Type": "application/json" },
  body: JSON.stringify({ expire: "session" }),
  signal: AbortSignal.timeout(10_000),
});
if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
const answer = await response.json();
console.log(answer.expired);
