-- +goose Up
CREATE TABLE handovers (
    link_hash  bytea PRIMARY KEY REFERENCES sessions (link_hash) ON DELETE CASCADE,
    nonce      bytea NOT NULL CHECK (octet_length(nonce) = 16),
    token_hash bytea NOT NULL CHECK (octet_length(token_hash) = 32),
    expires_at timestamptz NOT NULL,
    phone_hash bytea CHECK (octet_length(phone_hash) = 32)
);
CREATE UNIQUE INDEX handovers_token ON handovers (token_hash);

-- +goose Down
DROP TABLE handovers;
