const { AGEGATE_URL, AGEGATE_API_KEY, EVENT_ID } = process.env;
const response = await fetch(`${AGEGATE_URL}/api/v1/test/events/${EVENT_ID}/resend`, {
  method: "POST",
  headers: { "X-API-Key": AGEGATE_API_KEY },
  signal: AbortSignal.timeout(10_000),
});
if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
const answer = await response.json();
console.log(answer.event_id);
