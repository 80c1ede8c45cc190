export { Client } from "./client.js";
export { AgegateError } from "./transport.js";
export { verifyRedirect } from "./redirect.js";
export { verifyWebhook } from "./webhook.js";
