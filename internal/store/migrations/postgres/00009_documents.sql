-- +goose Up
-- How far a document check got: what is kept of a document.
ALTER TABLE sessions ADD COLUMN document_way text NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN document_attempts bigint NOT NULL DEFAULT 0;
-- NOT VALID: rows that are there already are not read under this lock. They have
-- the default, and 00017 validates.
ALTER TABLE sessions
    ADD CONSTRAINT sessions_document_way_check CHECK (document_way IN ('', 'wallet', 'photo')) NOT VALID,
    ADD CONSTRAINT sessions_document_attempts_check CHECK (document_attempts >= 0) NOT VALID;

-- Certificates from which documents of wallets are accepted.
CREATE TABLE trusted_issuers (
    id           uuid PRIMARY KEY,
    name         text NOT NULL CHECK (name <> ''),
    country      text NOT NULL CHECK (length(country) = 2),
    doc_type     text NOT NULL CHECK (doc_type <> ''),
    certificate  bytea NOT NULL,
    fingerprint  bytea NOT NULL CHECK (octet_length(fingerprint) = 32),
    signer_usage text NOT NULL,
    not_before   timestamptz NOT NULL,
    not_after    timestamptz NOT NULL,
    created_at   timestamptz NOT NULL
);
CREATE UNIQUE INDEX trusted_issuers_certificate ON trusted_issuers (doc_type, fingerprint);

-- The open request of a session to a wallet, and what became of it.
CREATE TABLE wallet_requests (
    link_hash bytea PRIMARY KEY REFERENCES sessions (link_hash) ON DELETE CASCADE,
    nonce     bytea NOT NULL CHECK (octet_length(nonce) = 16),
    outcome   text NOT NULL,
    final     boolean NOT NULL
);

-- +goose Down
DROP TABLE wallet_requests;
DROP TABLE trusted_issuers;
ALTER TABLE sessions DROP COLUMN document_attempts;
ALTER TABLE sessions DROP COLUMN document_way;
