-- +goose Up
-- How far a document check got: what is kept of a document.
ALTER TABLE sessions ADD COLUMN document_way TEXT NOT NULL DEFAULT '' CHECK (document_way IN ('', 'wallet', 'photo'));
ALTER TABLE sessions ADD COLUMN document_attempts INTEGER NOT NULL DEFAULT 0 CHECK (document_attempts >= 0);

-- Certificates from which documents of wallets are accepted.
CREATE TABLE trusted_issuers (
    id           TEXT PRIMARY KEY CHECK (length(id) = 36),
    name         TEXT NOT NULL CHECK (name <> ''),
    country      TEXT NOT NULL CHECK (length(country) = 2),
    doc_type     TEXT NOT NULL CHECK (doc_type <> ''),
    certificate  BLOB NOT NULL,
    fingerprint  BLOB NOT NULL CHECK (length(fingerprint) = 32),
    signer_usage TEXT NOT NULL,
    not_before   TIMESTAMP NOT NULL,
    not_after    TIMESTAMP NOT NULL,
    created_at   TIMESTAMP NOT NULL
);
CREATE UNIQUE INDEX trusted_issuers_certificate ON trusted_issuers (doc_type, fingerprint);

-- The open request of a session to a wallet, and what became of it.
CREATE TABLE wallet_requests (
    link_hash BLOB PRIMARY KEY REFERENCES sessions (link_hash) ON DELETE CASCADE,
    nonce     BLOB NOT NULL CHECK (length(nonce) = 16),
    outcome   TEXT NOT NULL,
    final     BOOLEAN NOT NULL
);

-- +goose Down
DROP TABLE wallet_requests;
DROP TABLE trusted_issuers;
ALTER TABLE sessions DROP COLUMN document_attempts;
ALTER TABLE sessions DROP COLUMN document_way;
