const response = await fetch(`${process.env.AGEGATE_URL}/api/v1/sessions/create`, {
  method: "POST",
  headers: {
    "X-API-Key": process.env.AGEGATE_API_KEY,
    "Content-Type": "application/json",
    "Idempotency-Key": crypto.randomUUID(), // keep it with the order, for a repetition
  },
  body: JSON.stringify({ target_age: 18 }),
  signal: AbortSignal.timeout(10_000),
});
if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
const session = await response.json();
console.log(session.session_id, session.verification_url);
