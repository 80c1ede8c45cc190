# Generated from openapi.yaml by make generate. Do not edit.
from __future__ import annotations

from urllib.parse import quote

from . import _types
from ._transport import Transport


def _quote(text: str) -> str:
    return quote(text, safe="")


class Client(Transport):
    """Calls the API of a gateway. A refusal is an AgegateError, no answer an OSError."""

    def create_session(self, body: _types.CreateSessionRequest, *, idempotency_key: str | None = None) -> _types.CreateSessionOut:
        """POST /api/v1/sessions/create: Create a verification session.

        Creates a session in status PENDING and returns the address to which you send the shopper's
        browser. A URL in the request may have any path and query, but its host and port must be
        exactly those of one of your registered Success, Cancel or Webhook URLs. If you omit a URL,
        your registered one is used, and there must be one. Both URLs stay the same for the life of
        the session. Webhooks always go to your registered Webhook URL: the request has no
        `webhook_url`. A request is checked in this order: size (413), key (401), tenant (403),
        request (422), then the test cap (429) or the allowance and credit (402).

        idempotency_key: Makes it safe to repeat this request, as described under *Idempotency*.
        Make a new key, such as a random UUID, for every session that you want. Do not copy a key
        from an example.
        """
        return self._call("POST", f"/api/v1/sessions/create", body=body, headers={"Idempotency-Key": idempotency_key})

    def get_session_status(self, session_id: str) -> _types.SessionStatusOut:
        """GET /api/v1/sessions/{session_id}/status: Look up a session's status.

        Returns the current status and when it took effect. To confirm a pass, require `PASSED`. A
        session that is still PENDING at its `expires_at` is EXPIRED from then on, and sends no
        webhook. How often to ask is under *Polling*.
        """
        return self._call("GET", f"/api/v1/sessions/{_quote(session_id)}/status")

    def get_detected_age(self, session_id: str) -> _types.DetectedAgeOut:
        """GET /api/v1/sessions/{session_id}/detected-age: Fetch the estimated age of a consenting shopper.

        Of use only if estimated-age visibility is on for your tenant. An estimate is stored if that
        setting is on **and** the shopper accepted the disclosure on the hosted page. It is deleted
        with its session record. All four values of `availability` are successful answers. Call this
        after you verified the webhook, with a key of the tenant that created the session.
        """
        return self._call("GET", f"/api/v1/sessions/{_quote(session_id)}/detected-age")

    def list_test_events(self, *, session_id: str | None = None, after: str | None = None, wait: int | None = None) -> _types.TestEventsOut:
        """GET /api/v1/test/events: List the events of test sessions, or wait for the next.

        Returns the events of your test sessions, newest first, at most 50. Each event has the body
        and the headers of a delivery that is signed now, so that your receiver can verify it as
        usual. Events are listed even if no Webhook URL is registered. With `after`, the answer has
        the events that were stored after that one, in the order in which they were stored. A client
        that always asks with the last event ID it got misses none. With `wait`, the gateway answers
        as soon as there is an event, or with an empty list after that many seconds. At most three
        requests of a tenant can wait at the same time. `agegate-dev listen` passes these events to
        a server on your machine.

        session_id: Only events of this session.

        after: Only events that were stored after this one. `evt_` with a UUID of zeros comes before
        all events.

        wait: How many seconds to wait for an event. By default the gateway does not wait.
        """
        return self._call("GET", f"/api/v1/test/events", query={"session_id": session_id, "after": after, "wait": wait})

    def resend_test_event(self, event_id: str) -> _types.ResentOut:
        """POST /api/v1/test/events/{event_id}/resend: Send an event of a test session again.

        Sends the event to its Webhook URL again, with the same `webhook-id` and body, and starts
        its schedule of attempts again. Use it to test that your receiver ignores a `webhook-id`
        that it has already seen.
        """
        return self._call("POST", f"/api/v1/test/events/{_quote(event_id)}/resend")

    def move_test_clock(self, session_id: str, body: _types.TestClockRequest) -> _types.TestClockOut:
        """POST /api/v1/test/sessions/{session_id}/clock: Make a test session, or its next redirect, expire.

        `session` makes an open session expire now, and the next lookup answers EXPIRED. `redirect`
        makes the gateway put a token that has already expired into the session's next success
        redirect.
        """
        return self._call("POST", f"/api/v1/test/sessions/{_quote(session_id)}/clock", body=body)
