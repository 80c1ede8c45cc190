// Generated from openapi.yaml by make generate. Do not edit.

/**
 * What to verify and where to send the browser afterwards. Unknown fields are refused.
 */
export interface CreateSessionRequest {
  /**
   * The age to verify, in years. The shopper passes when the estimated age reaches this age plus
   * the gateway's safety margin.
   */
  "target_age": number;
  /**
   * Where a VERIFIED result sends the browser. An absolute https URL without user information, its
   * host in ASCII. Omitted: your registered Success URL.
   */
  "success_url"?: string;
  /**
   * Where the fallback page's return action sends the browser. An absolute https URL without user
   * information, its host in ASCII. Omitted: your registered Cancel URL.
   */
  "cancel_url"?: string;
}

export interface CreateSessionOut {
  /**
   * Identifies the session. The ID alone grants no access.
   */
  "session_id": string;
  /**
   * Where to send the shopper's browser. Returned only here and when the request is repeated with
   * the same `Idempotency-Key`; treat it as a secret between you and the shopper.
   */
  "verification_url": string;
  "expires_at": Timestamp;
}

export type SessionStatus =
  /** Created; the shopper has not completed verification */
  | "PENDING"
  /** The estimated age met the cutoff, or the document check passed */
  | "PASSED"
  /** The cutoff was not met, and no document check made up for it. The cutoff counts as not met also without an estimate: when the shopper used up the attempts at the camera or went on without it */
  | "FALLBACK"
  /** The camera input did not look like a live person */
  | "SPOOF"
  /** Not completed before it expired */
  | "EXPIRED";

export interface SessionStatusOut {
  "status": SessionStatus;
  "status_at": Timestamp;
}

export type AgeAvailability =
  /** The shopper did not accept the disclosure for this session */
  | "not_consented"
  /** Accepted, but verification has not ended */
  | "pending"
  /** Accepted and ended, but no estimate was stored, for example because the shopper used up the attempts at the camera or went on without it */
  | "not_estimated"
  /** `detected_age` holds the estimate */
  | "available";

export interface DetectedAgeOut {
  /**
   * The requested session.
   */
  "session_id": string;
  /**
   * The estimated age in years with one decimal, or null where there is none.
   */
  "detected_age": number | null;
  "availability": AgeAvailability;
}

/**
 * The webhook's payload, the same bytes on every attempt. Further members may be added; ignore
 * those you do not know.
 */
export interface CompletionEvent {
  "type": EventType;
  "timestamp": Timestamp;
  /**
   * The session that ended.
   */
  "session_id": string;
  "status": ResultStatus;
  /**
   * True exactly when `status` is `VERIFIED`.
   */
  "is_adult": boolean;
  /**
   * False for sessions of a test key, true for those of a live key. This, and no URL or redirect
   * parameter, decides whether to process an event as real.
   */
  "livemode": boolean;
}

/**
 * The kind of event. The only one is that a session ended.
 */
export type EventType =
  | "session.completed";

/**
 * `VERIFIED` is the session status PASSED, `ROUTED_TO_FALLBACK` is FALLBACK.
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
 * An event of a test session, and how far its delivery is.
 */
export interface TestEvent {
  /**
   * The event's ID, which each delivery has as `webhook-id`.
   */
  "event_id": string;
  /**
   * The session that ended.
   */
  "session_id": string;
  "created_at": Timestamp;
  "delivery": DeliveryStatus;
  /**
   * How many attempts were made.
   */
  "attempts": number;
  /**
   * The HTTP status of the last attempt's answer, or null without an answer.
   */
  "last_status_code": number | null;
  /**
   * The bytes that are delivered and signed. Do not parse and write them again before you verify.
   */
  "body": string;
  "headers": TestEventHeaders;
}

/**
 * The headers of a delivery made now.
 */
export interface TestEventHeaders {
  /**
   * The event's ID.
   */
  "webhook-id": string;
  /**
   * Now, in Unix seconds.
   */
  "webhook-timestamp": string;
  /**
   * One or more signatures under your test mode's webhook secrets.
   */
  "webhook-signature": string;
}

export type DeliveryStatus =
  /** An attempt is scheduled or under way */
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
 * Which event is sent again.
 */
export interface ResentOut {
  /**
   * The event's ID.
   */
  "event_id": string;
}

/**
 * What expires.
 */
export interface TestClockRequest {
  "expire": Expiring;
}

/**
 * What has expired.
 */
export interface TestClockOut {
  /**
   * The session.
   */
  "session_id": string;
  "expired": Expiring;
}

/**
 * `session`, or its next success `redirect`.
 */
export type Expiring =
  | "session"
  | "redirect";

/**
 * RFC 3339 in UTC with a `Z` and up to six decimals of a second. Trailing zeros are left out.
 */
export type Timestamp = string;

export interface Violation {
  /**
   * The kind of violation: `missing`, `json_invalid`, `model_attributes_type`, `int_type`,
   * `int_from_float`, `string_type`, `greater_than_equal`, `less_than_equal`, `extra_forbidden`,
   * `uuid_parsing`, `url_parsing`, `url_scheme`, `url_too_long`, `string_too_short`,
   * `string_too_long`, `string_pattern_mismatch`, `literal_error` or `value_error`. New ones may be
   * added.
   */
  "type": string;
  /**
   * The location: `body`, `path`, `header` or `query`, then the name of the field or parameter as
   * written in this document.
   */
  "loc": (string | number)[];
  "msg": ViolationMessage;
}

/**
 * Always the same, so that nothing from the request is repeated.
 */
export type ViolationMessage =
  | "validation failed";
