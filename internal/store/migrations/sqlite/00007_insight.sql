-- +goose Up
ALTER TABLE sessions ADD COLUMN opened_at TIMESTAMP;
ALTER TABLE sessions ADD COLUMN begun_at TIMESTAMP;
ALTER TABLE sessions ADD COLUMN redirected_at TIMESTAMP;
ALTER TABLE sessions ADD COLUMN source TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN cutoff REAL;
ALTER TABLE sessions ADD COLUMN calibration TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN api_key_id TEXT;
CREATE INDEX sessions_status ON sessions (tenant_id, livemode, status, id);
CREATE INDEX webhook_events_status ON webhook_events (tenant_id, livemode, status, id);

-- Counts of a tenant's sessions that were created in an hour (since 1970, UTC)
-- and can no longer change. The last six count by time from opening to decision.
CREATE TABLE session_hours (
    tenant_id  TEXT NOT NULL REFERENCES tenants (id),
    livemode   BOOLEAN NOT NULL,
    hour       INTEGER NOT NULL,
    target_age INTEGER NOT NULL,
    status     TEXT NOT NULL CHECK (status IN ('PASSED', 'FALLBACK', 'SPOOF', 'EXPIRED')),
    source     TEXT NOT NULL CHECK (source IN ('', 'camera', 'forced', 'document')),
    n          INTEGER NOT NULL,
    opened     INTEGER NOT NULL,
    begun      INTEGER NOT NULL,
    t5         INTEGER NOT NULL,
    t10        INTEGER NOT NULL,
    t20        INTEGER NOT NULL,
    t40        INTEGER NOT NULL,
    t80        INTEGER NOT NULL,
    tmore      INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, livemode, hour, target_age, status, source)
) WITHOUT ROWID;

-- Sums of a tenant's ledger entries of a day (since 1970, UTC) that has ended.
CREATE TABLE ledger_days (
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    day       INTEGER NOT NULL,
    kind      TEXT NOT NULL,
    source    TEXT NOT NULL,
    n         INTEGER NOT NULL,
    delta     INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, day, kind, source)
) WITHOUT ROWID;

-- How far a table has been folded: every hour or day before upto.
CREATE TABLE fold_marks (
    name TEXT PRIMARY KEY,
    upto INTEGER NOT NULL
) WITHOUT ROWID;

-- API requests that were refused, by minute (since 1970). No input is kept.
CREATE TABLE api_refusals (
    tenant_id  TEXT NOT NULL REFERENCES tenants (id),
    livemode   BOOLEAN NOT NULL,
    minute     INTEGER NOT NULL,
    route      TEXT NOT NULL,
    status     INTEGER NOT NULL,
    type       TEXT NOT NULL,
    loc        TEXT NOT NULL,
    key_id     TEXT NOT NULL,
    n          INTEGER NOT NULL,
    request_id TEXT NOT NULL,
    PRIMARY KEY (tenant_id, livemode, minute, route, status, type, loc, key_id)
) WITHOUT ROWID;
CREATE INDEX api_refusals_minute ON api_refusals (minute);

-- One row per gateway process.
CREATE TABLE replicas (
    id          TEXT PRIMARY KEY,
    started_at  TIMESTAMP NOT NULL,
    seen_at     TIMESTAMP NOT NULL,
    version     TEXT NOT NULL,
    models      TEXT NOT NULL,
    calibration TEXT NOT NULL,
    config      TEXT NOT NULL
);

-- +goose Down
DROP TABLE replicas;
DROP TABLE api_refusals;
DROP TABLE fold_marks;
DROP TABLE ledger_days;
DROP TABLE session_hours;
DROP INDEX webhook_events_status;
DROP INDEX sessions_status;
ALTER TABLE sessions DROP COLUMN api_key_id;
ALTER TABLE sessions DROP COLUMN calibration;
ALTER TABLE sessions DROP COLUMN cutoff;
ALTER TABLE sessions DROP COLUMN source;
ALTER TABLE sessions DROP COLUMN redirected_at;
ALTER TABLE sessions DROP COLUMN begun_at;
ALTER TABLE sessions DROP COLUMN opened_at;
