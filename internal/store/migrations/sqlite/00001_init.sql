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
DROP TABLE tenant_secrets;
DROP TABLE api_keys;
DROP TABLE tenants;
