-- +goose Up
-- Registration certificates, which requests to wallets carry. Without a tenant: of
-- the instance.
CREATE TABLE registrations (
    id         uuid PRIMARY KEY,
    tenant_id  uuid REFERENCES tenants (id),
    text       text NOT NULL,
    not_after  timestamptz,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX registrations_owner ON registrations (COALESCE(tenant_id, '00000000-0000-0000-0000-000000000000'::uuid));

-- +goose Down
DROP TABLE registrations;
