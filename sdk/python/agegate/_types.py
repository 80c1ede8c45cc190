# Generated from openapi.yaml by make generate. Do not edit.
"""The schemas of the contract, as Python reads JSON."""
from __future__ import annotations

from typing import Literal, TypedDict, Union


class _CreateSessionRequest(TypedDict):
    # The age to verify, in years. The shopper passes if the estimated age is at least this age plus
    # the safety margin, or if a document shows this age.
    target_age: int


class CreateSessionRequest(_CreateSessionRequest, total=False):
    """The age to verify, and where to send the browser afterwards. Unknown fields are refused."""

    # Where a VERIFIED result sends the browser. An absolute https URL without user information,
    # with its host in ASCII. If you omit it, your registered Success URL is used.
    success_url: str
    # Where the button leads on the page of a shopper who did not pass. An absolute https URL
    # without user information, with its host in ASCII. If you omit it, your registered Cancel URL
    # is used.
    cancel_url: str



class CreateSessionOut(TypedDict):
    """The new session."""

    # The session's ID. The ID alone grants no access.
    session_id: str
    # Where to send the shopper's browser. You get it only here, and when you repeat the request
    # with the same `Idempotency-Key`. Show it to nobody but this shopper.
    verification_url: str
    expires_at: Timestamp


SessionStatus = Literal[
    # Created; the shopper has not completed verification
    "PENDING",
    # The estimated age met the cutoff, or the document check passed
    "PASSED",
    # The estimated age did not meet the cutoff, and no document check passed. Also when there is no
    # estimate, because the shopper used all attempts at the camera or continued without it
    "FALLBACK",
    # The camera input did not look like a live person
    "SPOOF",
    # The session expired before it was completed
    "EXPIRED",
]


class SessionStatusOut(TypedDict):
    """A session's current status. `status_at` is when it took effect: the creation for `PENDING`, the expiry for `EXPIRED`, and the completion for the others."""

    status: SessionStatus
    status_at: Timestamp


AgeAvailability = Literal[
    # The shopper did not accept the disclosure for this session
    "not_consented",
    # The shopper accepted it, but the session has not ended
    "pending",
    # The shopper accepted it and the session has ended, but no estimate was stored, for example
    # because the shopper used all attempts at the camera or continued without it
    "not_estimated",
    # `detected_age` holds the estimate
    "available",
]


class DetectedAgeOut(TypedDict):
    """The estimated age of a session's shopper, or the reason why there is none."""

    # The session's ID.
    session_id: str
    # The estimated age in years with one decimal, or null if there is none.
    detected_age: float | None
    availability: AgeAvailability



class CompletionEvent(TypedDict):
    """The webhook's payload. It has the same bytes on every attempt. Members may be added later, so ignore those that you do not know."""

    type: EventType
    timestamp: Timestamp
    # The ID of the session that ended.
    session_id: str
    status: ResultStatus
    # True if `status` is `VERIFIED`, and false otherwise. It says that the check for the session's
    # `target_age` was passed: where that is under 18, true does not mean an adult.
    is_adult: bool
    # False for sessions of a test key, and true for sessions of a live key. Use only this member,
    # not a URL or a redirect parameter, to decide whether an event is real.
    livemode: bool


# The kind of event. `session.completed`, a session has ended, is the only kind.
EventType = Literal[
    "session.completed",
]

# `VERIFIED` stands for the session status PASSED, and `ROUTED_TO_FALLBACK` for FALLBACK.
ResultStatus = Literal[
    "VERIFIED",
    "ROUTED_TO_FALLBACK",
]


class TestEventsOut(TypedDict):
    """Events of test sessions."""

    # The events.
    events: list[TestEvent]



class TestEvent(TypedDict):
    """An event of a test session, and the state of its delivery."""

    # The event's ID. Each delivery has it as `webhook-id`.
    event_id: str
    # The ID of the session that ended.
    session_id: str
    created_at: Timestamp
    delivery: DeliveryStatus
    # The number of attempts so far.
    attempts: int
    # The result of the last attempt, or null if there was none.
    last_class: str | None
    # The HTTP status of the answer to the last attempt, or null if there was no answer.
    last_status_code: int | None
    event: CompletionEvent
    # The text that is delivered and signed. To verify the signature, use it unchanged.
    body: str
    headers: TestEventHeaders


# The headers of a delivery that is made now.
TestEventHeaders = TypedDict("TestEventHeaders", {
    # The event's ID.
    "webhook-id": str,
    # The present time in Unix seconds.
    "webhook-timestamp": str,
    # One or more signatures, made with the webhook secrets of your test mode.
    "webhook-signature": str,
})

DeliveryStatus = Literal[
    # An attempt is planned or in progress
    "pending",
    # Your receiver answered 2xx
    "delivered",
    # All attempts failed
    "failed",
    # Your endpoint is disabled
    "waiting",
    # No Webhook URL was registered when the session was created
    "no_destination",
]


class ResentOut(TypedDict):
    """The event that is sent again."""

    # The event's ID.
    event_id: str



class TestClockRequest(TypedDict):
    """What to make expire."""

    expire: Expiring



class TestClockOut(TypedDict):
    """What has expired."""

    # The session's ID.
    session_id: str
    expired: Expiring


# `session` is the session. `redirect` is the token of its next success redirect.
Expiring = Literal[
    "session",
    "redirect",
]

# RFC 3339 in UTC with a `Z` and up to six decimals of a second, without trailing zeros.
Timestamp = str


class Violation(TypedDict):
    """One thing that is wrong with a request."""

    # The kind of violation: `missing`, `json_invalid`, `model_attributes_type`, `int_type`,
    # `int_from_float`, `string_type`, `greater_than_equal`, `less_than_equal`, `extra_forbidden`,
    # `uuid_parsing`, `url_parsing`, `url_scheme`, `url_too_long`, `string_too_short`,
    # `string_too_long`, `string_pattern_mismatch`, `literal_error` or `value_error`. More may be
    # added.
    type: str
    # Where the violation is: `body`, `path`, `header` or `query`, and then the name of the field or
    # parameter as this document writes it.
    loc: list[LocationPart]
    msg: ViolationMessage


# A name, or the position in a list, counted from 0.
LocationPart = Union[str, int]

# Always the same text, so that nothing from the request is repeated.
ViolationMessage = Literal[
    "validation failed",
]
