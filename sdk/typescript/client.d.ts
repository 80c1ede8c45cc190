// Generated from openapi.yaml by make generate. Do not edit.
import type * as types from "./types.js";
import { Transport } from "./transport.js";

/** Calls the API of a gateway. A refusal, or no answer, is an AgegateError. */
export declare class Client extends Transport {
  /**
   * POST /api/v1/sessions/create: Create a verification session.
   *
   * Creates a session in status PENDING and returns the address to which you send the shopper's
   * browser. A URL in the request may have any path and query, but its host and port must be
   * exactly those of one of your registered Success, Cancel or Webhook URLs. If you omit a URL,
   * your registered one is used, and there must be one. Both URLs stay the same for the life of the
   * session. Webhooks always go to your registered Webhook URL: the request has no `webhook_url`. A
   * request is checked in this order: size (413), key (401), tenant (403), request (422), then the
   * test cap (429) or the allowance and credit (402).
   */
  createSession(body: types.CreateSessionRequest, params?: {
    /**
     * Makes it safe to repeat this request, as described under *Idempotency*. Make a new key, such
     * as a random UUID, for every session that you want. Do not copy a key from an example.
     */
    idempotencyKey?: string | undefined;
  }): Promise<types.CreateSessionOut>;
  /**
   * GET /api/v1/sessions/{session_id}/status: Look up a session's status.
   *
   * Returns the current status and when it took effect. To confirm a pass, require `PASSED`. A
   * session that is still PENDING at its `expires_at` is EXPIRED from then on, and sends no
   * webhook. How often to ask is under *Polling*.
   */
  getSessionStatus(sessionId: string): Promise<types.SessionStatusOut>;
  /**
   * GET /api/v1/sessions/{session_id}/detected-age: Fetch the estimated age of a consenting shopper.
   *
   * Of use only if estimated-age visibility is on for your tenant. An estimate is stored if that
   * setting is on **and** the shopper accepted the disclosure on the hosted page. It is deleted
   * with its session record. All four values of `availability` are successful answers. Call this
   * after you verified the webhook, with a key of the tenant that created the session.
   */
  getDetectedAge(sessionId: string): Promise<types.DetectedAgeOut>;
  /**
   * GET /api/v1/test/events: List the events of test sessions, or wait for the next.
   *
   * Returns the events of your test sessions, newest first, at most 50. Each event has the body and
   * the headers of a delivery that is signed now, so that your receiver can verify it as usual.
   * Events are listed even if no Webhook URL is registered. With `after`, the answer has the events
   * that were stored after that one, in the order in which they were stored. A client that always
   * asks with the last event ID it got misses none. With `wait`, the gateway answers as soon as
   * there is an event, or with an empty list after that many seconds. At most three requests of a
   * tenant can wait at the same time. `agegate-dev listen` passes these events to a server on your
   * machine.
   */
  listTestEvents(params?: {
    /**
     * Only events of this session.
     */
    sessionId?: string | undefined;
    /**
     * Only events that were stored after this one. `evt_` with a UUID of zeros comes before all
     * events.
     */
    after?: string | undefined;
    /**
     * How many seconds to wait for an event. By default the gateway does not wait.
     */
    wait?: number | undefined;
  }): Promise<types.TestEventsOut>;
  /**
   * POST /api/v1/test/events/{event_id}/resend: Send an event of a test session again.
   *
   * Sends the event to its Webhook URL again, with the same `webhook-id` and body, and starts its
   * schedule of attempts again. Use it to test that your receiver ignores a `webhook-id` that it
   * has already seen.
   */
  resendTestEvent(eventId: string): Promise<types.ResentOut>;
  /**
   * POST /api/v1/test/sessions/{session_id}/clock: Make a test session, or its next redirect, expire.
   *
   * `session` makes an open session expire now, and the next lookup answers EXPIRED. `redirect`
   * makes the gateway put a token that has already expired into the session's next success
   * redirect.
   */
  moveTestClock(sessionId: string, body: types.TestClockRequest): Promise<types.TestClockOut>;
}
