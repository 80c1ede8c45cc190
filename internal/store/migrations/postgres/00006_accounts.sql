-- +goose Up
CREATE TABLE users (
    id           uuid PRIMARY KEY,
    email        text NOT NULL CHECK (email <> ''), -- in lower case
    name         text NOT NULL CHECK (name <> ''),
    password_phc text,
    totp_sealed  bytea,
    totp_step    bigint NOT NULL DEFAULT 0, -- the last step that was accepted
    operator     boolean NOT NULL,
    disabled_at  timestamptz,
    locale       text NOT NULL,
    created_at   timestamptz NOT NULL
);
CREATE UNIQUE INDEX users_email ON users (email);

CREATE TABLE passkeys (
    id            uuid PRIMARY KEY,
    user_id       uuid NOT NULL REFERENCES users (id),
    credential_id bytea NOT NULL CHECK (octet_length(credential_id) > 0),
    public_key    bytea NOT NULL,
    sign_count    bigint NOT NULL CHECK (sign_count >= 0),
    flags         bigint NOT NULL,
    transports    text NOT NULL,
    aaguid        bytea NOT NULL,
    name          text NOT NULL,
    created_at    timestamptz NOT NULL,
    last_used_at  timestamptz
);
CREATE UNIQUE INDEX passkeys_credential ON passkeys (credential_id);
CREATE INDEX passkeys_user ON passkeys (user_id);

CREATE TABLE recovery_codes (
    user_id uuid NOT NULL REFERENCES users (id),
    hash    bytea NOT NULL CHECK (octet_length(hash) = 32),
    used_at timestamptz,
    PRIMARY KEY (user_id, hash)
);

CREATE TABLE memberships (
    tenant_id  uuid NOT NULL REFERENCES tenants (id),
    user_id    uuid NOT NULL REFERENCES users (id),
    role       text NOT NULL CHECK (role IN ('owner', 'developer', 'viewer')),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id)
);
CREATE INDEX memberships_user ON memberships (user_id);

CREATE TABLE links (
    hash       bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
    kind       text NOT NULL CHECK (kind IN ('setup', 'invitation', 'recovery')),
    tenant_id  uuid REFERENCES tenants (id), -- of an invitation; of a setup link, the tenant the operator will own
    role       text CHECK (role IN ('owner', 'developer', 'viewer')),
    user_id    uuid REFERENCES users (id), -- whom a recovery link is for
    created_by uuid REFERENCES users (id), -- null: made by the server or a command
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CHECK (kind <> 'invitation' OR tenant_id IS NOT NULL AND role IS NOT NULL),
    CHECK ((kind = 'recovery') = (user_id IS NOT NULL))
);
CREATE INDEX links_expiry ON links (expires_at);
CREATE INDEX links_tenant ON links (tenant_id);
-- There is at most one setup link.
CREATE UNIQUE INDEX links_setup ON links (kind) WHERE kind = 'setup';

CREATE TABLE logins (
    hash             bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
    user_id          uuid NOT NULL REFERENCES users (id),
    device_hash      bytea CHECK (octet_length(device_hash) = 32),
    methods          text NOT NULL, -- separated by spaces
    created_at       timestamptz NOT NULL,
    seen_at          timestamptz NOT NULL,
    ends_at          timestamptz NOT NULL,
    stepped_up_until timestamptz,
    entered_tenant   uuid REFERENCES tenants (id) ON DELETE SET NULL,
    entered_until    timestamptz
);
CREATE INDEX logins_user ON logins (user_id);
CREATE INDEX logins_end ON logins (ends_at);

-- Steps of a ceremony, and the forms that were already sent.
CREATE TABLE login_flows (
    hash       bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
    kind       text NOT NULL,
    data       bytea,
    expires_at timestamptz NOT NULL
);
CREATE INDEX login_flows_expiry ON login_flows (expires_at);

CREATE TABLE throttles (
    bucket     bytea PRIMARY KEY CHECK (octet_length(bucket) = 32),
    failures   bigint NOT NULL CHECK (failures >= 0),
    until      timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE INDEX throttles_age ON throttles (updated_at);

CREATE TABLE notices (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    kind      text NOT NULL,
    subject   text NOT NULL,
    since     timestamptz NOT NULL,
    seen_at   timestamptz,
    PRIMARY KEY (tenant_id, kind, subject)
);

ALTER TABLE api_keys ADD COLUMN name text NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN created_by uuid;
ALTER TABLE api_keys ADD COLUMN expires_at timestamptz;
ALTER TABLE tenants ADD COLUMN test_cap bigint CHECK (test_cap >= -1);
ALTER TABLE tenants ADD COLUMN languages text NOT NULL DEFAULT ''; -- BCP 47 tags separated by spaces, the default first; empty: all
ALTER TABLE tenants ADD COLUMN alert_below bigint CHECK (alert_below >= 0);

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
