-- +goose Up
-- Only the instance has an identity provider. The accounts that tenants' own providers
-- made go: they have no password and no passkey, so nobody can log in to them.
DELETE FROM logins WHERE user_id IN (SELECT id FROM users WHERE managed_by IS NOT NULL);
DELETE FROM memberships WHERE user_id IN (SELECT id FROM users WHERE managed_by IS NOT NULL);
DELETE FROM links WHERE created_by IN (SELECT id FROM users WHERE managed_by IS NOT NULL);
DELETE FROM links WHERE user_id IN (SELECT id FROM users WHERE managed_by IS NOT NULL);
DELETE FROM users WHERE managed_by IS NOT NULL;
DROP TABLE providers;
DROP INDEX users_tenant_subject;
DROP INDEX users_instance_subject;
ALTER TABLE users DROP COLUMN managed_by;
CREATE UNIQUE INDEX users_subject ON users (issuer, subject);

-- +goose Down
DROP INDEX users_subject;
ALTER TABLE users ADD COLUMN managed_by uuid REFERENCES tenants (id);
CREATE UNIQUE INDEX users_instance_subject ON users (issuer, subject) WHERE managed_by IS NULL;
CREATE UNIQUE INDEX users_tenant_subject ON users (managed_by, issuer, subject) WHERE managed_by IS NOT NULL;
CREATE TABLE providers (
    tenant_id    uuid PRIMARY KEY REFERENCES tenants (id),
    name         text NOT NULL,
    issuer       text NOT NULL,
    client_id    text NOT NULL,
    sealed       bytea NOT NULL,
    groups_claim text NOT NULL,
    grants       text NOT NULL,
    required     boolean NOT NULL
);
