// webhook.mjs
import { Webhook } from "standardwebhooks"; // npm install standardwebhooks

// The event of a webhook, or null when the delivery does not verify.
// rawBody is the text as received, secret is whsec_...
export function verifiedEvent(headers, rawBody, secret) {
  try {
    return new Webhook(secret).verify(rawBody, headers);
  } catch {
    return null;
  }
}
