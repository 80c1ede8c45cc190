// Generated from openapi.yaml by make generate. Do not edit.
import type * as types from "./types.js";
import { Transport } from "./transport.js";

/** Calls the API of a gateway. A refusal is an AgegateError. */
export declare class Client extends Transport {
  /**
   * POST /api/v1/sessions/create: Create a verification session.
   *
   * Creates a session in status PENDING and returns the address to send the shopper's browser to.
   * The session is test or live as your key is. A URL given here may have any path and query, but
   * its host and port must be exactly those of one of your registered Success, Cancel or Webhook
   * URLs. An omitted one is taken from your settings and must be registered there. Both are frozen
   * for the life of the session. The webhook destination is always your registered Webhook URL;
   * `webhook_url` is not accepted here. Requests are checked in this order: size (413), key (401),
   * tenant (403), request (422), then the test cap (429) or the allowance and credit (402).
   */
  createSession(body: types.CreateSessionRequest, params?: {
    /**
     * Makes it safe to repeat this request: 1 to 255 visible ASCII characters (no spaces),
     * remembered for 24 hours per tenant and mode. Same key and same body: the same session, no
     * second charge. Same key and another body: 409. Make a new one, such as a random UUID, for
     * every session you want; never copy one from an example.
     */
    idempotencyKey?: string | undefined;
  }): Promise<types.CreateSessionOut>;
  /**
   * GET /api/v1/sessions/{session_id}/status: Look up a session's status.
   *
   * Returns the current status and when it took effect. To confirm a pass, require `PASSED`. A
   * session still PENDING past its `expires_at` is reported as EXPIRED from then on; no webhook is
   * sent for it. Poll after 1, 2, 4, 8 and then every 15 seconds, and stop at a terminal status or
   * after five minutes.
   */
  getSessionStatus(sessionId: string): Promise<types.SessionStatusOut>;
  /**
   * GET /api/v1/sessions/{session_id}/detected-age: Fetch the estimated age of a consenting shopper.
   *
   * Useful only to tenants with estimated-age visibility turned on. An estimate is stored when the
   * setting is on **and** the shopper accepted the disclosure on the hosted page; it is deleted
   * with its session record. All four values of `availability` are successful answers. Call this
   * after a verified webhook, with a key of the tenant that created the session.
   */
  getDetectedAge(sessionId: string): Promise<types.DetectedAgeOut>;
  /**
   * GET /api/v1/test/events: List the events of test sessions, or wait for the next.
   *
   * Returns the events of your test sessions, newest first and at most 50, each with its body and
   * with headers that are signed now, as a delivery's are. A receiver that gets them verifies them
   * as usual. An event is listed whether or not a Webhook URL is registered. With `after` the
   * answer has the events made after that one, oldest first; with `wait` it comes as soon as there
   * is one, or empty after that many seconds. At most three requests of a tenant may wait at a
   * time. `agegate listen` passes these events to a server on your machine.
   */
  listTestEvents(params?: {
    /**
     * Only events of this session.
     */
    sessionId?: string | undefined;
    /**
     * Only events made after this one. `evt_` and a UUID of zeros stands before all.
     */
    after?: string | undefined;
    /**
     * How many seconds to wait for an event. Not at all by default.
     */
    wait?: number | undefined;
  }): Promise<types.TestEventsOut>;
  /**
   * POST /api/v1/test/events/{event_id}/resend: Send an event of a test session again.
   *
   * Sends the event to its Webhook URL again, with the same `webhook-id` and body, and restarts its
   * schedule of attempts. Use it to see that your receiver ignores a `webhook-id` that it has seen.
   */
  resendTestEvent(eventId: string): Promise<types.ResentOut>;
  /**
   * POST /api/v1/test/sessions/{session_id}/clock: Let a test session, or its next redirect, expire.
   *
   * Does at once what time would do: `session` lets an open session expire now, which the next
   * lookup reports as EXPIRED, and `redirect` lets the token of its next success redirect be one
   * that has expired.
   */
  moveTestClock(sessionId: string, body: types.TestClockRequest): Promise<types.TestClockOut>;
}
