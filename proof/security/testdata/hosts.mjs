// The oracle: which host and port a browser would go to for each URL of a
// JSON list on standard input; null where it would go nowhere by https or
// http. Node's URL is the WHATWG parser.
const ports = { "https:": "443", "http:": "80" };
let text = "";
for await (const chunk of process.stdin) text += chunk;
const places = JSON.parse(text).map((raw) => {
  try {
    const url = new URL(raw);
    return ports[url.protocol] ? url.hostname + " " + (url.port || ports[url.protocol]) : null;
  } catch {
    return null;
  }
});
process.stdout.write(JSON.stringify(places));
