-- +goose Up
CREATE TABLE tenants (
    id             uuid PRIMARY KEY,
    name           text NOT NULL CHECK (name <> ''),
    success_url    text NOT NULL,
    cancel_url     text NOT NULL,
    webhook_url    text NOT NULL,
    document_check boolean NOT NULL,
    age_visibility boolean NOT NULL,
    free_checks    bigint CHECK (free_checks >= -1),
    disabled       boolean NOT NULL,
    created_at     timestamptz NOT NULL
);

CREATE TABLE api_keys (
    id           uuid PRIMARY KEY,
    tenant_id    uuid NOT NULL REFERENCES tenants (id),
    livemode     boolean NOT NULL,
    hash         bytea NOT NULL CHECK (octet_length(hash) = 32),
    last_four    text NOT NULL CHECK (length(last_four) = 4),
    created_at   timestamptz NOT NULL,
    last_used_at timestamptz,
    revoked_at   timestamptz
);
CREATE UNIQUE INDEX api_keys_hash ON api_keys (hash);
CREATE INDEX api_keys_tenant ON api_keys (tenant_id);

CREATE TABLE tenant_secrets (
    id         uuid PRIMARY KEY,
    tenant_id  uuid NOT NULL REFERENCES tenants (id),
    livemode   boolean NOT NULL,
    kind       text NOT NULL CHECK (kind IN ('webhook', 'redirect')),
    state      text NOT NULL CHECK (state IN ('staged', 'active', 'retiring')),
    sealed     bytea NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    CHECK ((state = 'retiring') = (expires_at IS NOT NULL))
);
CREATE UNIQUE INDEX tenant_secrets_active ON tenant_secrets (tenant_id, livemode, kind) WHERE state = 'active';
CREATE INDEX tenant_secrets_tenant ON tenant_secrets (tenant_id, livemode, kind);

CREATE TABLE sessions (
    id                 uuid PRIMARY KEY,
    tenant_id          uuid NOT NULL REFERENCES tenants (id),
    livemode           boolean NOT NULL,
    target_age         bigint NOT NULL CHECK (target_age BETWEEN 13 AND 99),
    success_url        text NOT NULL,
    cancel_url         text NOT NULL,
    webhook_url        text NOT NULL,
    link_hash          bytea NOT NULL CHECK (octet_length(link_hash) = 32),
    browser_hash       bytea CHECK (octet_length(browser_hash) = 32),
    status             text NOT NULL CHECK (status IN ('PENDING', 'PASSED', 'FALLBACK', 'SPOOF', 'EXPIRED')),
    created_at         timestamptz NOT NULL,
    expires_at         timestamptz NOT NULL,
    completed_at       timestamptz,
    consented_at       timestamptz,
    detected_age       double precision,
    document_opened_at timestamptz,
    attempts           bigint NOT NULL CHECK (attempts >= 0),
    strikes            bigint NOT NULL CHECK (strikes >= 0),
    -- An estimate is stored only under consent.
    CHECK (detected_age IS NULL OR consented_at IS NOT NULL)
);
CREATE UNIQUE INDEX sessions_link ON sessions (link_hash);

-- Written before its session, so it cannot reference it.
CREATE TABLE idempotency_claims (
    tenant_id    uuid NOT NULL REFERENCES tenants (id),
    livemode     boolean NOT NULL,
    key_hash     bytea NOT NULL CHECK (octet_length(key_hash) = 32),
    request_hash bytea NOT NULL CHECK (octet_length(request_hash) = 32),
    session_id   uuid NOT NULL,
    sealed_link  bytea NOT NULL,
    session_end  timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, livemode, key_hash)
);

CREATE INDEX idempotency_claims_expiry ON idempotency_claims (expires_at);

CREATE TABLE holds (
    session_id uuid PRIMARY KEY REFERENCES sessions (id),
    tenant_id  uuid NOT NULL,
    source     text NOT NULL CHECK (source IN ('free', 'credit')),
    period     text NOT NULL CHECK ((source = 'free') = (period <> '')),
    status     text NOT NULL CHECK (status IN ('open', 'settled', 'released')),
    expires_at timestamptz NOT NULL
);
CREATE INDEX holds_open ON holds (tenant_id, expires_at) WHERE status = 'open';

CREATE TABLE usage_counters (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    counter   text NOT NULL CHECK (counter IN ('free', 'test')),
    period    text NOT NULL CHECK (period <> ''),
    used      bigint NOT NULL CHECK (used >= 0),
    PRIMARY KEY (tenant_id, counter, period)
);

CREATE TABLE credit_balances (
    tenant_id uuid PRIMARY KEY REFERENCES tenants (id),
    units     bigint NOT NULL CHECK (units >= 0)
);

CREATE TABLE ledger_entries (
    id         uuid PRIMARY KEY,
    tenant_id  uuid NOT NULL REFERENCES tenants (id),
    session_id uuid,
    kind       text NOT NULL CHECK (kind IN ('top_up', 'hold', 'release', 'settle')),
    source     text NOT NULL CHECK (source IN ('free', 'credit')),
    period     text NOT NULL,
    delta      bigint NOT NULL,
    created_at timestamptz NOT NULL
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
