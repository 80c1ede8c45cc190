const { AGEGATE_URL, AGEGATE_API_KEY, SESSION_ID } = process.env;
const response = await fetch(`${AGEGATE_URL}/api/v1/sessions/${SESSION_ID}/detected-age`, {
  headers: { "X-API-Key": AGEGATE_API_KEY },
  signal: AbortSignal.timeout(10_000),
});
if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
const age = await response.json();
console.log(age.availability);
