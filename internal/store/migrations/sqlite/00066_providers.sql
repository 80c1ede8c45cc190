-- +goose Up
-- Accounts made by log-in through an identity provider. They are found by issuer
-- and subject; only the address of an account of its own is unique.
ALTER TABLE users ADD COLUMN issuer TEXT;
ALTER TABLE users ADD COLUMN subject TEXT CHECK ((issuer IS NULL) = (subject IS NULL));
ALTER TABLE users ADD COLUMN managed_by TEXT REFERENCES tenants (id) CHECK (length(managed_by) = 36); -- whose provider it is; null: the instance's
DROP INDEX users_email;
CREATE UNIQUE INDEX users_email ON users (email) WHERE issuer IS NULL;
CREATE UNIQUE INDEX users_instance_subject ON users (issuer, subject) WHERE managed_by IS NULL;
CREATE UNIQUE INDEX users_tenant_subject ON users (managed_by, issuer, subject) WHERE managed_by IS NOT NULL;

-- The identity providers that tenants have chosen.
CREATE TABLE providers (
    tenant_id    TEXT PRIMARY KEY REFERENCES tenants (id) CHECK (length(tenant_id) = 36),
    name         TEXT NOT NULL,
    issuer       TEXT NOT NULL,
    client_id    TEXT NOT NULL,
    sealed       BLOB NOT NULL, -- the client secret
    groups_claim TEXT NOT NULL,
    grants       TEXT NOT NULL, -- JSON
    required     BOOLEAN NOT NULL
);

-- +goose Down
DROP TABLE providers;
DELETE FROM links WHERE user_id IN (SELECT id FROM users WHERE issuer IS NOT NULL) OR created_by IN (SELECT id FROM users WHERE issuer IS NOT NULL);
DELETE FROM logins WHERE user_id IN (SELECT id FROM users WHERE issuer IS NOT NULL);
DELETE FROM memberships WHERE user_id IN (SELECT id FROM users WHERE issuer IS NOT NULL);
DELETE FROM users WHERE issuer IS NOT NULL;
DROP INDEX users_tenant_subject;
DROP INDEX users_instance_subject;
DROP INDEX users_email;
CREATE UNIQUE INDEX users_email ON users (email);
ALTER TABLE users DROP COLUMN managed_by;
ALTER TABLE users DROP COLUMN subject;
ALTER TABLE users DROP COLUMN issuer;
