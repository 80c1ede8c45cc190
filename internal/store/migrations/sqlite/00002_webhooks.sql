-- +goose Up
-- No reference to sessions: either may be deleted first.
-- Newer ids are greater.
CREATE TABLE webhook_events (
    id              TEXT PRIMARY KEY CHECK (length(id) = 40),
    tenant_id       TEXT NOT NULL REFERENCES tenants (id),
    session_id      TEXT NOT NULL CHECK (length(session_id) = 36),
    livemode        BOOLEAN NOT NULL,
    destination     TEXT NOT NULL,
    endpoint_id     TEXT NOT NULL CHECK ((endpoint_id = '') = (destination = '')),
    body            BLOB NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('pending', 'delivered', 'failed', 'waiting', 'no_destination')),
    created_at      TIMESTAMP NOT NULL,
    -- While leased, the end of the lease.
    next_attempt_at TIMESTAMP CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL)),
    lease_token     TEXT CHECK (length(lease_token) = 36),
    attempts        INTEGER NOT NULL CHECK (attempts >= 0),
    step            INTEGER NOT NULL CHECK (step >= 0),
    last_at         TIMESTAMP,
    last_class      TEXT NOT NULL,
    last_status     INTEGER NOT NULL
);
CREATE UNIQUE INDEX webhook_events_session ON webhook_events (session_id);
CREATE INDEX webhook_events_due ON webhook_events (tenant_id, next_attempt_at) WHERE status = 'pending';
CREATE INDEX webhook_events_tenant ON webhook_events (tenant_id, id);
CREATE INDEX webhook_events_endpoint ON webhook_events (endpoint_id, status);
CREATE INDEX webhook_events_created ON webhook_events (created_at);

CREATE TABLE webhook_attempts (
    event_id    TEXT NOT NULL REFERENCES webhook_events (id) ON DELETE CASCADE,
    number      INTEGER NOT NULL CHECK (number > 0),
    at          TIMESTAMP NOT NULL,
    class       TEXT NOT NULL,
    status_code INTEGER NOT NULL,
    latency_us  INTEGER NOT NULL,
    excerpt     BLOB NOT NULL CHECK (length(excerpt) <= 1024),
    next_at     TIMESTAMP,
    PRIMARY KEY (event_id, number)
);

-- Only endpoints that have failed have a row.
CREATE TABLE webhook_endpoints (
    id               TEXT PRIMARY KEY CHECK (length(id) = 35),
    tenant_id        TEXT NOT NULL REFERENCES tenants (id),
    livemode         BOOLEAN NOT NULL,
    url              TEXT NOT NULL,
    first_failure_at TIMESTAMP,
    disabled_at      TIMESTAMP,
    disabled_reason  TEXT NOT NULL CHECK ((disabled_reason = '') = (disabled_at IS NULL))
);
CREATE INDEX webhook_endpoints_tenant ON webhook_endpoints (tenant_id);

-- +goose Down
DROP TABLE webhook_endpoints;
DROP TABLE webhook_attempts;
DROP TABLE webhook_events;
