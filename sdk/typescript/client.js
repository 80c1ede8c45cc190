// Generated from openapi.yaml by make generate. Do not edit.
import { Transport } from "./transport.js";

/** Calls the API of a gateway. A refusal, or no answer, is an AgegateError. */
export class Client extends Transport {
  /**
   * @param {import("./types.js").CreateSessionRequest} body
   * @param { { idempotencyKey?: string | undefined } } [params]
   * @returns {Promise<import("./types.js").CreateSessionOut>}
   */
  createSession(body, params = {}) {
    return this.call("POST", `/api/v1/sessions/create`, { body, headers: { "Idempotency-Key": params.idempotencyKey }, });
  }

  /**
   * @param {string} sessionId
   * @returns {Promise<import("./types.js").SessionStatusOut>}
   */
  getSessionStatus(sessionId) {
    return this.call("GET", `/api/v1/sessions/${encodeURIComponent(sessionId)}/status`, { });
  }

  /**
   * @param {string} sessionId
   * @returns {Promise<import("./types.js").DetectedAgeOut>}
   */
  getDetectedAge(sessionId) {
    return this.call("GET", `/api/v1/sessions/${encodeURIComponent(sessionId)}/detected-age`, { });
  }

  /**
   * @param { { sessionId?: string | undefined, after?: string | undefined, wait?: number | undefined } } [params]
   * @returns {Promise<import("./types.js").TestEventsOut>}
   */
  listTestEvents(params = {}) {
    return this.call("GET", `/api/v1/test/events`, { query: { "session_id": params.sessionId, "after": params.after, "wait": params.wait }, });
  }

  /**
   * @param {string} eventId
   * @returns {Promise<import("./types.js").ResentOut>}
   */
  resendTestEvent(eventId) {
    return this.call("POST", `/api/v1/test/events/${encodeURIComponent(eventId)}/resend`, { });
  }

  /**
   * @param {string} sessionId
   * @param {import("./types.js").TestClockRequest} body
   * @returns {Promise<import("./types.js").TestClockOut>}
   */
  moveTestClock(sessionId, body) {
    return this.call("POST", `/api/v1/test/sessions/${encodeURIComponent(sessionId)}/clock`, { body, });
  }
}
