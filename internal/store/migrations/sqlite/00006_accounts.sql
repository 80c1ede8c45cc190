-- +goose Up
CREATE TABLE users (
    id           TEXT PRIMARY KEY CHECK (length(id) = 36),
    email        TEXT NOT NULL CHECK (email <> ''), -- in lower case
    name         TEXT NOT NULL CHECK (name <> ''),
    password_phc TEXT,
    totp_sealed  BLOB,
    totp_step    INTEGER NOT NULL DEFAULT 0, -- the last step that was accepted
    operator     BOOLEAN NOT NULL,
    disabled_at  TIMESTAMP,
    locale       TEXT NOT NULL,
    created_at   TIMESTAMP NOT NULL
);
CREATE UNIQUE INDEX users_email ON users (email);

CREATE TABLE passkeys (
    id            TEXT PRIMARY KEY CHECK (length(id) = 36),
    user_id       TEXT NOT NULL REFERENCES users (id) CHECK (length(user_id) = 36),
    credential_id BLOB NOT NULL CHECK (length(credential_id) > 0),
    public_key    BLOB NOT NULL,
    sign_count    INTEGER NOT NULL CHECK (sign_count >= 0),
    flags         INTEGER NOT NULL,
    transports    TEXT NOT NULL,
    aaguid        BLOB NOT NULL,
    name          TEXT NOT NULL,
    created_at    TIMESTAMP NOT NULL,
    last_used_at  TIMESTAMP
);
CREATE UNIQUE INDEX passkeys_credential ON passkeys (credential_id);
CREATE INDEX passkeys_user ON passkeys (user_id);

CREATE TABLE recovery_codes (
    user_id TEXT NOT NULL REFERENCES users (id) CHECK (length(user_id) = 36),
    hash    BLOB NOT NULL CHECK (length(hash) = 32),
    used_at TIMESTAMP,
    PRIMARY KEY (user_id, hash)
);

CREATE TABLE memberships (
    tenant_id  TEXT NOT NULL REFERENCES tenants (id) CHECK (length(tenant_id) = 36),
    user_id    TEXT NOT NULL REFERENCES users (id) CHECK (length(user_id) = 36),
    role       TEXT NOT NULL CHECK (role IN ('owner', 'developer', 'viewer')),
    created_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, user_id)
);
CREATE INDEX memberships_user ON memberships (user_id);

CREATE TABLE links (
    hash       BLOB PRIMARY KEY CHECK (length(hash) = 32),
    kind       TEXT NOT NULL CHECK (kind IN ('setup', 'invitation', 'recovery')),
    tenant_id  TEXT REFERENCES tenants (id) CHECK (length(tenant_id) = 36), -- of an invitation; of a setup link, the tenant the operator will own
    role       TEXT CHECK (role IN ('owner', 'developer', 'viewer')),
    user_id    TEXT REFERENCES users (id) CHECK (length(user_id) = 36), -- whom a recovery link is for
    created_by TEXT REFERENCES users (id) CHECK (length(created_by) = 36), -- null: made by the server or a command
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    CHECK (kind <> 'invitation' OR tenant_id IS NOT NULL AND role IS NOT NULL),
    CHECK ((kind = 'recovery') = (user_id IS NOT NULL))
);
CREATE INDEX links_expiry ON links (expires_at);
CREATE INDEX links_tenant ON links (tenant_id);
-- There is at most one setup link.
CREATE UNIQUE INDEX links_setup ON links (kind) WHERE kind = 'setup';

CREATE TABLE logins (
    hash             BLOB PRIMARY KEY CHECK (length(hash) = 32),
    user_id          TEXT NOT NULL REFERENCES users (id) CHECK (length(user_id) = 36),
    device_hash      BLOB CHECK (length(device_hash) = 32),
    methods          TEXT NOT NULL, -- separated by spaces
    created_at       TIMESTAMP NOT NULL,
    seen_at          TIMESTAMP NOT NULL,
    ends_at          TIMESTAMP NOT NULL,
    stepped_up_until TIMESTAMP,
    entered_tenant   TEXT REFERENCES tenants (id) ON DELETE SET NULL CHECK (length(entered_tenant) = 36),
    entered_until    TIMESTAMP
);
CREATE INDEX logins_user ON logins (user_id);
CREATE INDEX logins_end ON logins (ends_at);

-- Steps of a ceremony, and the forms that were already sent.
CREATE TABLE login_flows (
    hash       BLOB PRIMARY KEY CHECK (length(hash) = 32),
    kind       TEXT NOT NULL,
    data       BLOB,
    expires_at TIMESTAMP NOT NULL
);
CREATE INDEX login_flows_expiry ON login_flows (expires_at);

CREATE TABLE throttles (
    bucket     BLOB PRIMARY KEY CHECK (length(bucket) = 32),
    failures   INTEGER NOT NULL CHECK (failures >= 0),
    until      TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL
);
CREATE INDEX throttles_age ON throttles (updated_at);

CREATE TABLE notices (
    tenant_id TEXT NOT NULL REFERENCES tenants (id) CHECK (length(tenant_id) = 36),
    kind      TEXT NOT NULL,
    subject   TEXT NOT NULL,
    since     TIMESTAMP NOT NULL,
    seen_at   TIMESTAMP,
    PRIMARY KEY (tenant_id, kind, subject)
);

ALTER TABLE api_keys ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN created_by TEXT CHECK (length(created_by) = 36);
ALTER TABLE api_keys ADD COLUMN expires_at TIMESTAMP;
ALTER TABLE tenants ADD COLUMN test_cap INTEGER CHECK (test_cap >= -1);
ALTER TABLE tenants ADD COLUMN languages TEXT NOT NULL DEFAULT ''; -- BCP 47 tags separated by spaces, the default first; empty: all
ALTER TABLE tenants ADD COLUMN alert_below INTEGER CHECK (alert_below >= 0);

-- +goose Down
ALTER TABLE tenants DROP COLUMN alert_below;
ALTER TABLE tenants DROP COLUMN languages;
ALTER TABLE tenants DROP COLUMN test_cap;
ALTER TABLE api_keys DROP COLUMN expires_at;
ALTER TABLE api_keys DROP COLUMN created_by;
ALTER TABLE api_keys DROP COLUMN name;
DROP TABLE notices;
DROP TABLE throttles;
DROP TABLE login_flows;
DROP TABLE logins;
DROP TABLE links;
DROP TABLE memberships;
DROP TABLE recovery_codes;
DROP TABLE passkeys;
DROP TABLE users;
