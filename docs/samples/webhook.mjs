// webhook.mjs
import { Webhook } from "standardwebhooks"; // npm install standardwebhooks

// The event of a webhook, or null when the delivery does not verify.
// rawBody is the text as received, secret is whsec_... An empty or damaged secret
// verifies nothing: under it, anybody could sign.
export function verifiedEvent(headers, rawBody, secret) {
  if (!/^whsec_[A-Za-z0-9+/]{43}=$/.test(secret)) return null; // 32 bytes
  try {
    return new Webhook(secret).verify(rawBody, headers);
  } catch {
    return null;
  }
}
