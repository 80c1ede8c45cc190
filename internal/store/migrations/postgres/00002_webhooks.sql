-- +goose Up
-- No reference to sessions: either may be deleted first.
-- Ids are compared as bytes: newer ids are greater.
CREATE TABLE webhook_events (
    id              text COLLATE "C" PRIMARY KEY CHECK (length(id) = 40),
    tenant_id       uuid NOT NULL REFERENCES tenants (id),
    session_id      uuid NOT NULL,
    livemode        boolean NOT NULL,
    destination     text NOT NULL,
    endpoint_id     text NOT NULL CHECK ((endpoint_id = '') = (destination = '')),
    body            bytea NOT NULL,
    status          text NOT NULL CHECK (status IN ('pending', 'delivered', 'failed', 'waiting', 'no_destination')),
    created_at      timestamptz NOT NULL,
    -- While leased, the end of the lease.
    next_attempt_at timestamptz CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL)),
    lease_token     uuid,
    attempts        bigint NOT NULL CHECK (attempts >= 0),
    step            bigint NOT NULL CHECK (step >= 0),
    last_at         timestamptz,
    last_class      text NOT NULL,
    last_status     bigint NOT NULL
);
CREATE UNIQUE INDEX webhook_events_session ON webhook_events (session_id);
CREATE INDEX webhook_events_due ON webhook_events (tenant_id, next_attempt_at) WHERE status = 'pending';
CREATE INDEX webhook_events_tenant ON webhook_events (tenant_id, id);
CREATE INDEX webhook_events_endpoint ON webhook_events (endpoint_id, status);
CREATE INDEX webhook_events_created ON webhook_events (created_at);

CREATE TABLE webhook_attempts (
    event_id    text COLLATE "C" NOT NULL REFERENCES webhook_events (id) ON DELETE CASCADE,
    number      bigint NOT NULL CHECK (number > 0),
    at          timestamptz NOT NULL,
    class       text NOT NULL,
    status_code bigint NOT NULL,
    latency_us  bigint NOT NULL,
    excerpt     bytea NOT NULL CHECK (octet_length(excerpt) <= 1024),
    next_at     timestamptz,
    PRIMARY KEY (event_id, number)
);

-- Only endpoints that have failed have a row.
CREATE TABLE webhook_endpoints (
    id               text COLLATE "C" PRIMARY KEY CHECK (length(id) = 35),
    tenant_id        uuid NOT NULL REFERENCES tenants (id),
    livemode         boolean NOT NULL,
    url              text NOT NULL,
    first_failure_at timestamptz,
    disabled_at      timestamptz,
    disabled_reason  text NOT NULL CHECK ((disabled_reason = '') = (disabled_at IS NULL))
);
CREATE INDEX webhook_endpoints_tenant ON webhook_endpoints (tenant_id);

-- +goose Down
DROP TABLE webhook_endpoints;
DROP TABLE webhook_attempts;
DROP TABLE webhook_events;
