// webhook.js

/**
 * The event of a webhook, or null when the delivery does not verify. An empty or damaged secret is a
 * TypeError: under it, anybody could sign. So is a body that is not raw, such as parsed JSON.
 *
 * @param {Headers | Record<string, string | string[] | undefined>} headers lower-case names, if not Headers
 * @param {string | Uint8Array} rawBody as received, such as a Buffer
 * @param {string} secret whsec_...
 * @returns {Promise<import("./types.js").CompletionEvent | null>}
 */
export async function verifyWebhook(headers, rawBody, secret) {
  if (!/^whsec_[A-Za-z0-9+/]{43}=$/.test(secret)) { // 32 bytes
    throw new TypeError("The webhook secret must be whsec_ and 32 bytes in base64.");
  }
  const body = rawBody instanceof Uint8Array ? new TextDecoder("utf-8", { ignoreBOM: true }).decode(rawBody) : rawBody;
  if (typeof body !== "string") {
    throw new TypeError("Pass the raw body, as it was received, not parsed JSON: it cannot be verified.");
  }
  const header = (/** @type {string} */ name) => String((headers instanceof Headers ? headers.get(name) : headers[name]) ?? "");
  const id = header("webhook-id");
  const timestamp = header("webhook-timestamp");
  if (!/^\d{1,15}$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return null;
  const bytes = (/** @type {string} */ base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytes(secret.slice("whsec_".length)), algorithm, false, ["verify"]);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  for (const given of header("webhook-signature").split(" ").slice(0, 10)) {
    const [, mac] = /^v1,([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)$/.exec(given) ?? [];
    if (mac && await crypto.subtle.verify("HMAC", key, bytes(mac), signed)) return read(body);
  }
  return null;
}

/** The event of a signed body, or null if it is not one. @param {string} body */
function read(body) {
  try {
    const event = JSON.parse(body);
    return typeof event.is_adult === "boolean" && typeof event.livemode === "boolean" ? event : null;
  } catch {
    return null;
  }
}
