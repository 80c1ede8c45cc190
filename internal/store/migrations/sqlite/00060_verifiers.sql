-- +goose Up
-- Keys and certificates by which the gateway says to wallets who asks. Without a
-- tenant: of the instance.
CREATE TABLE verifiers (
    id         TEXT PRIMARY KEY CHECK (length(id) = 36),
    tenant_id  TEXT REFERENCES tenants (id),
    role       TEXT NOT NULL CHECK (role IN ('verifier', 'registrar')),
    name       TEXT NOT NULL CHECK (name <> ''),
    host       TEXT NOT NULL,
    by_host    BOOLEAN NOT NULL,
    metadata   BLOB,
    sealed     BLOB NOT NULL,
    chain      BLOB,
    state      TEXT NOT NULL CHECK (state IN ('pending', 'active')),
    not_after  TIMESTAMP,
    created_at TIMESTAMP NOT NULL
);
CREATE UNIQUE INDEX verifiers_active ON verifiers (role, COALESCE(tenant_id, '')) WHERE state = 'active';

-- +goose Down
DROP TABLE verifiers;
