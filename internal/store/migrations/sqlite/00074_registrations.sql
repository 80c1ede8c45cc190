-- +goose Up
-- Registration certificates, which requests to wallets carry. Without a tenant: of
-- the instance.
CREATE TABLE registrations (
    id         TEXT PRIMARY KEY CHECK (length(id) = 36),
    tenant_id  TEXT REFERENCES tenants (id),
    text       TEXT NOT NULL,
    not_after  TIMESTAMP,
    created_at TIMESTAMP NOT NULL
);
CREATE UNIQUE INDEX registrations_owner ON registrations (COALESCE(tenant_id, ''));

-- +goose Down
DROP TABLE registrations;
