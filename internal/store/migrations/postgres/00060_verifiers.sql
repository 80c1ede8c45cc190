-- +goose Up
-- Keys and certificates by which the gateway says to wallets who asks. Without a
-- tenant: of the instance.
CREATE TABLE verifiers (
    id         uuid PRIMARY KEY,
    tenant_id  uuid REFERENCES tenants (id),
    role       text NOT NULL CHECK (role IN ('verifier', 'registrar')),
    name       text NOT NULL CHECK (name <> ''),
    host       text NOT NULL,
    by_host    boolean NOT NULL,
    metadata   bytea,
    sealed     bytea NOT NULL,
    chain      bytea,
    state      text NOT NULL CHECK (state IN ('pending', 'active')),
    not_after  timestamptz,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX verifiers_active ON verifiers (role, COALESCE(tenant_id, '00000000-0000-0000-0000-000000000000'::uuid)) WHERE state = 'active';

-- +goose Down
DROP TABLE verifiers;
