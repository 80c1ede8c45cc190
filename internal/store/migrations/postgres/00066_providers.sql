-- +goose Up
-- Accounts made by log-in through an identity provider. They are found by issuer
-- and subject; only the address of an account of its own is unique.
ALTER TABLE users
    ADD COLUMN issuer text,
    ADD COLUMN subject text,
    ADD COLUMN managed_by uuid REFERENCES tenants (id), -- whose provider it is; null: the instance's
    ADD CONSTRAINT users_provider CHECK ((issuer IS NULL) = (subject IS NULL));
DROP INDEX users_email;
CREATE UNIQUE INDEX users_email ON users (email) WHERE issuer IS NULL;
CREATE UNIQUE INDEX users_instance_subject ON users (issuer, subject) WHERE managed_by IS NULL;
CREATE UNIQUE INDEX users_tenant_subject ON users (managed_by, issuer, subject) WHERE managed_by IS NOT NULL;

-- The identity providers that tenants have chosen.
CREATE TABLE providers (
    tenant_id    uuid PRIMARY KEY REFERENCES tenants (id),
    name         text NOT NULL,
    issuer       text NOT NULL,
    client_id    text NOT NULL,
    sealed       bytea NOT NULL, -- the client secret
    groups_claim text NOT NULL,
    grants       text NOT NULL, -- JSON
    required     boolean NOT NULL
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
ALTER TABLE users DROP CONSTRAINT users_provider, DROP COLUMN managed_by, DROP COLUMN subject, DROP COLUMN issuer;
