// Generated from openapi.yaml by make generate. Do not edit.

/**
 * The age to verify, and where to send the browser afterwards. Unknown fields are refused.
 */
export interface CreateSessionRequest {
  /**
   * The age to verify, in years. The shopper passes if the estimated age is at least this age plus
   * the safety margin, or if a document shows this age.
   */
  "target_age": number;
  /**
   * Where a VERIFIED result sends the browser. An absolute https URL without user information, with
   * its host in ASCII. If you omit it, your registered Success URL is used.
   */
  "success_url"?: string;
  /**
   * Where the button leads on the page of a shopper who did not pass. An absolute https URL without
   * user information, with its host in ASCII. If you omit it, your registered Cancel URL is used.
   */
  "cancel_url"?: string;
}

/**
 * The new session.
 */
export interface CreateSessionOut {
  /**
   * The session's ID. The ID alone grants no access.
   */
  "session_id": string;
  /**
   * Where to send the shopper's browser. You get it only here, and when you repeat the request with
   * the same `Idempotency-Key`. Show it to nobody but this shopper.
   */
  "verification_url": string;
  "expires_at": Timestamp;
}

export type SessionStatus =
  /** Created; the shopper has not completed verification */
  | "PENDING"
  /** The estimated age met the cutoff, or the document check passed */
  | "PASSED"
  /** The estimated age did not meet the cutoff, and no document check passed. Also when there is no estimate, because the shopper used all attempts at the camera or continued without it */
  | "FALLBACK"
  /** The camera input did not look like a live person */
  | "SPOOF"
  /** The session expired before it was completed */
  | "EXPIRED";

/**
 * A session's current status. `status_at` is when it took effect: the creation for `PENDING`, the
 * expiry for `EXPIRED`, and the completion for the others.
 */
export interface SessionStatusOut {
  "status": SessionStatus;
  "status_at": Timestamp;
}

export type AgeAvailability =
  /** The shopper did not accept the disclosure for this session */
  | "not_consented"
  /** The shopper accepted it, but the session has not ended */
  | "pending"
  /** The shopper accepted it and the session has ended, but no estimate was stored, for example because the shopper used all attempts at the camera or continued without it */
  | "not_estimated"
  /** `detected_age` holds the estimate */
  | "available";

/**
 * The estimated age of a session's shopper, or the reason why there is none.
 */
export interface DetectedAgeOut {
  /**
   * The session's ID.
   */
  "session_id": string;
  /**
   * The estimated age in years with one decimal, or null if there is none.
   */
  "detected_age": number | null;
  "availability": AgeAvailability;
}

/**
 * The webhook's payload. It has the same bytes on every attempt. Members may be added later, so
 * ignore those that you do not know.
 */
export interface CompletionEvent {
  "type": EventType;
  "timestamp": Timestamp;
  /**
   * The ID of the session that ended.
   */
  "session_id": string;
  "status": ResultStatus;
  /**
   * True if `status` is `VERIFIED`, and false otherwise. It says that the check for the session's
   * `target_age` was passed: where that is under 18, true does not mean an adult.
   */
  "is_adult": boolean;
  /**
   * False for sessions of a test key, and true for sessions of a live key. Use only this member,
   * not a URL or a redirect parameter, to decide whether an event is real.
   */
  "livemode": boolean;
}

/**
 * The kind of event. `session.completed`, a session has ended, is the only kind.
 */
export type EventType =
  | "session.completed";

/**
 * `VERIFIED` stands for the session status PASSED, and `ROUTED_TO_FALLBACK` for FALLBACK.
 */
export type ResultStatus =
  | "VERIFIED"
  | "ROUTED_TO_FALLBACK";

/**
 * Events of test sessions.
 */
export interface TestEventsOut {
  /**
   * The events.
   */
  "events": (TestEvent)[];
}

/**
 * An event of a test session, and the state of its delivery.
 */
export interface TestEvent {
  /**
   * The event's ID. Each delivery has it as `webhook-id`.
   */
  "event_id": string;
  /**
   * The ID of the session that ended.
   */
  "session_id": string;
  "created_at": Timestamp;
  "delivery": DeliveryStatus;
  /**
   * The number of attempts so far.
   */
  "attempts": number;
  /**
   * The result of the last attempt, or null if there was none.
   */
  "last_class": string | null;
  /**
   * The HTTP status of the answer to the last attempt, or null if there was no answer.
   */
  "last_status_code": number | null;
  "event": CompletionEvent;
  /**
   * The text that is delivered and signed. To verify the signature, use it unchanged.
   */
  "body": string;
  "headers": TestEventHeaders;
}

/**
 * The headers of a delivery that is made now.
 */
export interface TestEventHeaders {
  /**
   * The event's ID.
   */
  "webhook-id": string;
  /**
   * The present time in Unix seconds.
   */
  "webhook-timestamp": string;
  /**
   * One or more signatures, made with the webhook secrets of your test mode.
   */
  "webhook-signature": string;
}

export type DeliveryStatus =
  /** An attempt is planned or in progress */
  | "pending"
  /** Your receiver answered 2xx */
  | "delivered"
  /** All attempts failed */
  | "failed"
  /** Your endpoint is disabled */
  | "waiting"
  /** No Webhook URL was registered when the session was created */
  | "no_destination";

/**
 * The event that is sent again.
 */
export interface ResentOut {
  /**
   * The event's ID.
   */
  "event_id": string;
}

/**
 * What to make expire.
 */
export interface TestClockRequest {
  "expire": Expiring;
}

/**
 * What has expired.
 */
export interface TestClockOut {
  /**
   * The session's ID.
   */
  "session_id": string;
  "expired": Expiring;
}

/**
 * `session` is the session. `redirect` is the token of its next success redirect.
 */
export type Expiring =
  | "session"
  | "redirect";

/**
 * RFC 3339 in UTC with a `Z` and up to six decimals of a second, without trailing zeros.
 */
export type Timestamp = string;

/**
 * One thing that is wrong with a request.
 */
export interface Violation {
  /**
   * The kind of violation: `missing`, `json_invalid`, `model_attributes_type`, `int_type`,
   * `int_from_float`, `string_type`, `greater_than_equal`, `less_than_equal`, `extra_forbidden`,
   * `uuid_parsing`, `url_parsing`, `url_scheme`, `url_too_long`, `string_too_short`,
   * `string_too_long`, `string_pattern_mismatch`, `literal_error` or `value_error`. More may be
   * added.
   */
  "type": string;
  /**
   * Where the violation is: `body`, `path`, `header` or `query`, and then the name of the field or
   * parameter as this document writes it.
   */
  "loc": (LocationPart)[];
  "msg": ViolationMessage;
}

/**
 * A name, or the position in a list, counted from 0.
 */
export type LocationPart = string | number;

/**
 * Always the same text, so that nothing from the request is repeated.
 */
export type ViolationMessage =
  | "validation failed";
