import type { CompletionEvent } from "./types.js";

/**
 * The event of a webhook, or null when the delivery does not verify. `rawBody` is what was
 * received, as text or bytes; `headers` have lower-case names, as in Node.js, or are of the class Headers. An
 * empty or damaged secret is a TypeError, and so is a body that is not raw, such as parsed JSON.
 */
export declare function verifyWebhook(
  headers: Headers | Record<string, string | string[] | undefined>, rawBody: string | Uint8Array, secret: string,
): Promise<CompletionEvent | null>;
