-- +goose Up
CREATE TABLE handovers (
    link_hash  BLOB PRIMARY KEY REFERENCES sessions (link_hash) ON DELETE CASCADE,
    nonce      BLOB NOT NULL CHECK (length(nonce) = 16),
    token_hash BLOB NOT NULL CHECK (length(token_hash) = 32),
    expires_at TIMESTAMP NOT NULL,
    phone_hash BLOB CHECK (length(phone_hash) = 32)
);
CREATE UNIQUE INDEX handovers_token ON handovers (token_hash);

-- +goose Down
DROP TABLE handovers;
