// webhook.js

/**
 * The event of a webhook, or null when the delivery does not verify. An empty or damaged secret is a
 * TypeError: under it, anybody could sign. So is a body that is no text, such as parsed JSON.
 *
 * @param {Headers | Record<string, string | string[] | undefined>} headers lower-case names, if not Headers
 * @param {string} rawBody the text as received
 * @param {string} secret whsec_...
 * @returns {Promise<import("./types.js").CompletionEvent | null>}
 */
export async function verifyWebhook(headers, rawBody, secret) {
  if (!/^whsec_[A-Za-z0-9+/]{43}=$/.test(secret)) { // 32 bytes
    throw new TypeError("The webhook secret must be whsec_ and 32 bytes in base64.");
  }
  if (typeof rawBody !== "string") {
    throw new TypeError("Pass the raw body as text, as it was received, not parsed JSON: it cannot be verified.");
  }
  const header = (/** @type {string} */ name) => String((headers instanceof Headers ? headers.get(name) : headers[name]) ?? "");
  const id = header("webhook-id");
  const timestamp = header("webhook-timestamp");
  if (!/^\d{1,15}$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return null;
  const bytes = (/** @type {string} */ base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytes(secret.slice("whsec_".length)), algorithm, false, ["verify"]);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${rawBody}`);
  for (const given of header("webhook-signature").split(" ").slice(0, 10)) {
    const [, mac] = /^v1,([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)$/.exec(given) ?? [];
    if (mac && await crypto.subtle.verify("HMAC", key, bytes(mac), signed)) return read(rawBody);
  }
  return null;
}

/** The event of a signed body, or null if it is not one. @param {string} rawBody */
function read(rawBody) {
  try {
    const event = JSON.parse(rawBody);
    return typeof event.is_adult === "boolean" && typeof event.livemode === "boolean" ? event : null;
  } catch {
    return null;
  }
}
