-- +goose NO TRANSACTION
-- +goose Up
-- Not in a transaction, because the indexes are built while others write. Every
-- statement can be repeated: a run that was interrupted is run again from here.
ALTER TABLE sessions
    ADD COLUMN IF NOT EXISTS opened_at timestamptz,
    ADD COLUMN IF NOT EXISTS begun_at timestamptz,
    ADD COLUMN IF NOT EXISTS redirected_at timestamptz,
    ADD COLUMN IF NOT EXISTS source text NOT NULL DEFAULT '',
    ADD COLUMN IF NOT EXISTS cutoff double precision,
    ADD COLUMN IF NOT EXISTS calibration text NOT NULL DEFAULT '',
    ADD COLUMN IF NOT EXISTS api_key_id uuid;

-- Counts of a tenant's sessions that were created in an hour (since 1970, UTC)
-- and can no longer change. The last six count by time from opening to decision.
CREATE TABLE IF NOT EXISTS session_hours (
    tenant_id  uuid NOT NULL REFERENCES tenants (id),
    livemode   boolean NOT NULL,
    hour       bigint NOT NULL,
    target_age bigint NOT NULL,
    status     text NOT NULL CHECK (status IN ('PASSED', 'FALLBACK', 'SPOOF', 'EXPIRED')),
    source     text NOT NULL CHECK (source IN ('', 'camera', 'forced', 'document')),
    n          bigint NOT NULL,
    opened     bigint NOT NULL,
    begun      bigint NOT NULL,
    t5         bigint NOT NULL,
    t10        bigint NOT NULL,
    t20        bigint NOT NULL,
    t40        bigint NOT NULL,
    t80        bigint NOT NULL,
    tmore      bigint NOT NULL,
    PRIMARY KEY (tenant_id, livemode, hour, target_age, status, source)
);

-- Sums of a tenant's ledger entries of a day (since 1970, UTC) that has ended.
CREATE TABLE IF NOT EXISTS ledger_days (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    day       bigint NOT NULL,
    kind      text NOT NULL,
    source    text NOT NULL,
    n         bigint NOT NULL,
    delta     bigint NOT NULL,
    PRIMARY KEY (tenant_id, day, kind, source)
);

-- How far a table has been folded: every hour or day before upto.
CREATE TABLE IF NOT EXISTS fold_marks (
    name text PRIMARY KEY,
    upto bigint NOT NULL
);

-- API requests that were refused, by minute (since 1970). No input is kept.
CREATE TABLE IF NOT EXISTS api_refusals (
    tenant_id  uuid NOT NULL REFERENCES tenants (id),
    livemode   boolean NOT NULL,
    minute     bigint NOT NULL,
    route      text COLLATE "C" NOT NULL,
    status     bigint NOT NULL,
    type       text COLLATE "C" NOT NULL,
    loc        text COLLATE "C" NOT NULL,
    key_id     uuid NOT NULL,
    n          bigint NOT NULL,
    request_id text NOT NULL,
    PRIMARY KEY (tenant_id, livemode, minute, route, status, type, loc, key_id)
);
CREATE INDEX IF NOT EXISTS api_refusals_minute ON api_refusals (minute);

-- One row per gateway process.
CREATE TABLE IF NOT EXISTS replicas (
    id          uuid PRIMARY KEY,
    started_at  timestamptz NOT NULL,
    seen_at     timestamptz NOT NULL,
    version     text NOT NULL,
    models      text NOT NULL,
    calibration text NOT NULL,
    config      text NOT NULL
);

-- Building an index concurrently waits for every older transaction, and blocks
-- none. An interrupted build leaves an invalid index behind.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS sessions_status;
CREATE INDEX CONCURRENTLY sessions_status ON sessions (tenant_id, livemode, status, id);
DROP INDEX CONCURRENTLY IF EXISTS webhook_events_status;
CREATE INDEX CONCURRENTLY webhook_events_status ON webhook_events (tenant_id, livemode, status, id);
RESET lock_timeout;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS webhook_events_status;
DROP INDEX CONCURRENTLY IF EXISTS sessions_status;
DROP TABLE IF EXISTS replicas, api_refusals, fold_marks, ledger_days, session_hours;
ALTER TABLE sessions
    DROP COLUMN IF EXISTS api_key_id,
    DROP COLUMN IF EXISTS calibration,
    DROP COLUMN IF EXISTS cutoff,
    DROP COLUMN IF EXISTS source,
    DROP COLUMN IF EXISTS redirected_at,
    DROP COLUMN IF EXISTS begun_at,
    DROP COLUMN IF EXISTS opened_at;
