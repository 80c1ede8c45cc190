-- +goose Up
CREATE TABLE tenants (
    id             TEXT PRIMARY KEY CHECK (length(id) = 36),
    name           TEXT NOT NULL CHECK (name <> ''),
    success_url    TEXT NOT NULL,
    cancel_url     TEXT NOT NULL,
    webhook_url    TEXT NOT NULL,
    document_check BOOLEAN NOT NULL,
    age_visibility BOOLEAN NOT NULL,
    free_checks    INTEGER CHECK (free_checks >= -1),
    disabled       BOOLEAN NOT NULL,
    created_at     TIMESTAMP NOT NULL
);

CREATE TABLE api_keys (
    id           TEXT PRIMARY KEY CHECK (length(id) = 36),
    tenant_id    TEXT NOT NULL REFERENCES tenants (id),
    livemode     BOOLEAN NOT NULL,
    hash         BLOB NOT NULL CHECK (length(hash) = 32),
    last_four    TEXT NOT NULL CHECK (length(last_four) = 4),
    created_at   TIMESTAMP NOT NULL,
    last_used_at TIMESTAMP,
    revoked_at   TIMESTAMP
);
CREATE UNIQUE INDEX api_keys_hash ON api_keys (hash);
CREATE INDEX api_keys_tenant ON api_keys (tenant_id);

CREATE TABLE tenant_secrets (
    id         TEXT PRIMARY KEY CHECK (length(id) = 36),
    tenant_id  TEXT NOT NULL REFERENCES tenants (id),
    livemode   BOOLEAN NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('webhook', 'redirect')),
    state      TEXT NOT NULL CHECK (state IN ('staged', 'active', 'retiring')),
    sealed     BLOB NOT NULL,
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP,
    CHECK ((state = 'retiring') = (expires_at IS NOT NULL))
);
CREATE UNIQUE INDEX tenant_secrets_active ON tenant_secrets (tenant_id, livemode, kind) WHERE state = 'active';
CREATE INDEX tenant_secrets_tenant ON tenant_secrets (tenant_id, livemode, kind);

CREATE TABLE sessions (
    id                 TEXT PRIMARY KEY CHECK (length(id) = 36),
    tenant_id          TEXT NOT NULL REFERENCES tenants (id),
    livemode           BOOLEAN NOT NULL,
    target_age         INTEGER NOT NULL CHECK (target_age BETWEEN 13 AND 99),
    success_url        TEXT NOT NULL,
    cancel_url         TEXT NOT NULL,
    webhook_url        TEXT NOT NULL,
    link_hash          BLOB NOT NULL CHECK (length(link_hash) = 32),
    browser_hash       BLOB CHECK (length(browser_hash) = 32),
    status             TEXT NOT NULL CHECK (status IN ('PENDING', 'PASSED', 'FALLBACK', 'SPOOF', 'EXPIRED')),
    created_at         TIMESTAMP NOT NULL,
    expires_at         TIMESTAMP NOT NULL,
    completed_at       TIMESTAMP,
    consented_at       TIMESTAMP,
    detected_age       REAL,
    document_opened_at TIMESTAMP,
    attempts           INTEGER NOT NULL CHECK (attempts >= 0),
    strikes            INTEGER NOT NULL CHECK (strikes >= 0),
    -- An estimate is stored only under consent.
    CHECK (detected_age IS NULL OR consented_at IS NOT NULL)
);
CREATE UNIQUE INDEX sessions_link ON sessions (link_hash);

-- Written before its session, so it cannot reference it.
CREATE TABLE idempotency_claims (
    tenant_id    TEXT NOT NULL REFERENCES tenants (id),
    livemode     BOOLEAN NOT NULL,
    key_hash     BLOB NOT NULL CHECK (length(key_hash) = 32),
    request_hash BLOB NOT NULL CHECK (length(request_hash) = 32),
    session_id   TEXT NOT NULL CHECK (length(session_id) = 36),
    sealed_link  BLOB NOT NULL,
    session_end  TIMESTAMP NOT NULL,
    expires_at   TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, livemode, key_hash)
);

CREATE INDEX idempotency_claims_expiry ON idempotency_claims (expires_at);

CREATE TABLE holds (
    session_id TEXT PRIMARY KEY REFERENCES sessions (id) CHECK (length(session_id) = 36),
    tenant_id  TEXT NOT NULL CHECK (length(tenant_id) = 36),
    source     TEXT NOT NULL CHECK (source IN ('free', 'credit')),
    period     TEXT NOT NULL CHECK ((source = 'free') = (period <> '')),
    status     TEXT NOT NULL CHECK (status IN ('open', 'settled', 'released')),
    expires_at TIMESTAMP NOT NULL
);
CREATE INDEX holds_open ON holds (tenant_id, expires_at) WHERE status = 'open';

CREATE TABLE usage_counters (
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    counter   TEXT NOT NULL CHECK (counter IN ('free', 'test')),
    period    TEXT NOT NULL CHECK (period <> ''),
    used      INTEGER NOT NULL CHECK (used >= 0),
    PRIMARY KEY (tenant_id, counter, period)
);

CREATE TABLE credit_balances (
    tenant_id TEXT PRIMARY KEY REFERENCES tenants (id),
    units     INTEGER NOT NULL CHECK (units >= 0)
);

CREATE TABLE ledger_entries (
    id         TEXT PRIMARY KEY CHECK (length(id) = 36),
    tenant_id  TEXT NOT NULL REFERENCES tenants (id),
    session_id TEXT CHECK (length(session_id) = 36),
    kind       TEXT NOT NULL CHECK (kind IN ('top_up', 'hold', 'release', 'settle')),
    source     TEXT NOT NULL CHECK (source IN ('free', 'credit')),
    period     TEXT NOT NULL,
    delta      INTEGER NOT NULL,
    created_at TIMESTAMP NOT NULL
);
CREATE INDEX ledger_entries_tenant ON ledger_entries (tenant_id, created_at, id);

-- +goose Down
DROP TABLE ledger_entries;
DROP TABLE credit_balances;
DROP TABLE usage_counters;
DROP TABLE holds;
DROP TABLE idempotency_claims;
DROP TABLE sessions;
DROP TABLE tenant_secrets;
DROP TABLE api_keys;
DROP TABLE tenants;
