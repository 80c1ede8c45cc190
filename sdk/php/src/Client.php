<?php
// Generated from openapi.yaml by make generate. Do not edit.
declare(strict_types=1);

namespace Agegate;

/**
 * Calls the API of a gateway. A refusal is an AgegateException.
 *
 * @phpstan-type CreateSessionRequest array{target_age: int, success_url?: string, cancel_url?: string}
 * @phpstan-type CreateSessionOut array{session_id: string, verification_url: string, expires_at: Timestamp}
 * @phpstan-type SessionStatus 'PENDING'|'PASSED'|'FALLBACK'|'SPOOF'|'EXPIRED'
 * @phpstan-type SessionStatusOut array{status: SessionStatus, status_at: Timestamp}
 * @phpstan-type AgeAvailability 'not_consented'|'pending'|'not_estimated'|'available'
 * @phpstan-type DetectedAgeOut array{session_id: string, detected_age: float | null, availability: AgeAvailability}
 * @phpstan-type CompletionEvent array{type: EventType, timestamp: Timestamp, session_id: string, status: ResultStatus, is_adult: bool, livemode: bool}
 * @phpstan-type EventType 'session.completed'
 * @phpstan-type ResultStatus 'VERIFIED'|'ROUTED_TO_FALLBACK'
 * @phpstan-type TestEventsOut array{events: list<TestEvent>}
 * @phpstan-type TestEvent array{event_id: string, session_id: string, created_at: Timestamp, delivery: DeliveryStatus, attempts: int, last_class: string | null, last_status_code: int | null, event: CompletionEvent, body: string, headers: TestEventHeaders}
 * @phpstan-type TestEventHeaders array{'webhook-id': string, 'webhook-timestamp': string, 'webhook-signature': string}
 * @phpstan-type DeliveryStatus 'pending'|'delivered'|'failed'|'waiting'|'no_destination'
 * @phpstan-type ResentOut array{event_id: string}
 * @phpstan-type TestClockRequest array{expire: Expiring}
 * @phpstan-type TestClockOut array{session_id: string, expired: Expiring}
 * @phpstan-type Expiring 'session'|'redirect'
 * @phpstan-type Timestamp string
 * @phpstan-type Violation array{type: string, loc: list<LocationPart>, msg: ViolationMessage}
 * @phpstan-type LocationPart string | int
 * @phpstan-type ViolationMessage 'validation failed'
 */
final class Client extends Transport
{
    /**
     * POST /api/v1/sessions/create: Create a verification session.
     *
     * Creates a session in status PENDING and returns the address to which you send the shopper's
     * browser. A URL in the request may have any path and query, but its host and port must be
     * exactly those of one of your registered Success, Cancel or Webhook URLs. If you omit a URL,
     * your registered one is used, and there must be one. Both URLs stay the same for the life of
     * the session. Webhooks always go to your registered Webhook URL: the request has no
     * `webhook_url`. A request is checked in this order: size (413), key (401), tenant (403),
     * request (422), then the test cap (429) or the allowance and credit (402).
     *
     * @param CreateSessionRequest $body
     * @param ?string $idempotencyKey Makes it safe to repeat this request, as described under
     * *Idempotency*. Make a new key, such as a random UUID, for every session that you want. Do not
     * copy a key from an example.
     * @return CreateSessionOut
     */
    public function createSession(array $body, ?string $idempotencyKey = null): array
    {
        return $this->call("POST", "/api/v1/sessions/create", body: $body, headers: ["Idempotency-Key" => $idempotencyKey]);
    }

    /**
     * GET /api/v1/sessions/{session_id}/status: Look up a session's status.
     *
     * Returns the current status and when it took effect. To confirm a pass, require `PASSED`. A
     * session that is still PENDING at its `expires_at` is EXPIRED from then on, and sends no
     * webhook. How often to ask is under *Polling*.
     *
     * @return SessionStatusOut
     */
    public function getSessionStatus(string $sessionId): array
    {
        return $this->call("GET", "/api/v1/sessions/" . rawurlencode($sessionId) . "/status");
    }

    /**
     * GET /api/v1/sessions/{session_id}/detected-age: Fetch the estimated age of a consenting shopper.
     *
     * Of use only if estimated-age visibility is on for your tenant. An estimate is stored if that
     * setting is on **and** the shopper accepted the disclosure on the hosted page. It is deleted
     * with its session record. All four values of `availability` are successful answers. Call this
     * after you verified the webhook, with a key of the tenant that created the session.
     *
     * @return DetectedAgeOut
     */
    public function getDetectedAge(string $sessionId): array
    {
        return $this->call("GET", "/api/v1/sessions/" . rawurlencode($sessionId) . "/detected-age");
    }

    /**
     * GET /api/v1/test/events: List the events of test sessions, or wait for the next.
     *
     * Returns the events of your test sessions, newest first, at most 50. Each event has the body
     * and the headers of a delivery that is signed now, so that your receiver can verify it as
     * usual. Events are listed even if no Webhook URL is registered. With `after`, the answer has
     * the events that were stored after that one, in the order in which they were stored. A client
     * that always asks with the last event ID it got misses none. With `wait`, the gateway answers
     * as soon as there is an event, or with an empty list after that many seconds. At most three
     * requests of a tenant can wait at the same time. `agegate-dev listen` passes these events to a
     * server on your machine.
     *
     * @param ?string $sessionId Only events of this session.
     * @param ?string $after Only events that were stored after this one. `evt_` with a UUID of
     * zeros comes before all events.
     * @param ?int $wait How many seconds to wait for an event. By default the gateway does not
     * wait.
     * @return TestEventsOut
     */
    public function listTestEvents(?string $sessionId = null, ?string $after = null, ?int $wait = null): array
    {
        return $this->call("GET", "/api/v1/test/events", query: ["session_id" => $sessionId, "after" => $after, "wait" => $wait]);
    }

    /**
     * POST /api/v1/test/events/{event_id}/resend: Send an event of a test session again.
     *
     * Sends the event to its Webhook URL again, with the same `webhook-id` and body, and starts its
     * schedule of attempts again. Use it to test that your receiver ignores a `webhook-id` that it
     * has already seen.
     *
     * @return ResentOut
     */
    public function resendTestEvent(string $eventId): array
    {
        return $this->call("POST", "/api/v1/test/events/" . rawurlencode($eventId) . "/resend");
    }

    /**
     * POST /api/v1/test/sessions/{session_id}/clock: Make a test session, or its next redirect, expire.
     *
     * `session` makes an open session expire now, and the next lookup answers EXPIRED. `redirect`
     * makes the gateway put a token that has already expired into the session's next success
     * redirect.
     *
     * @param TestClockRequest $body
     * @return TestClockOut
     */
    public function moveTestClock(string $sessionId, array $body): array
    {
        return $this->call("POST", "/api/v1/test/sessions/" . rawurlencode($sessionId) . "/clock", body: $body);
    }
}
