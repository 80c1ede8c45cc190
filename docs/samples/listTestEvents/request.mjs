const { AGEGATE_URL, AGEGATE_API_KEY } = process.env;
const response = await fetch(`${AGEGATE_URL}/api/v1/test/events`, {
  headers: { "X-API-Key": AGEGATE_API_KEY },
  signal: AbortSignal.timeout(10_000),
});
if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
const answer = await response.json();
console.log(answer.events);
