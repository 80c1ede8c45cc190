-- +goose Up
-- Published lists of issuers that the gateway follows.
CREATE TABLE trust_lists (
    id          TEXT PRIMARY KEY CHECK (length(id) = 36),
    name        TEXT NOT NULL CHECK (name <> ''),
    format      TEXT NOT NULL CHECK (format IN ('av', 'lote', 'vical')),
    url         TEXT NOT NULL, -- empty: imported from files
    list_type   TEXT NOT NULL,
    doc_type    TEXT NOT NULL, -- of its issuers' documents; empty: the list says it
    signers     BLOB NOT NULL, -- pinned certificates
    sequence    INTEGER NOT NULL DEFAULT 0 CHECK (sequence >= 0),
    digest      BLOB CHECK (length(digest) = 32), -- null before the first synchronisation, as the next three
    issued_at   TIMESTAMP,
    next_update TIMESTAMP,
    synced_at   TIMESTAMP,
    failure     TEXT NOT NULL DEFAULT '', -- of the last attempt; empty if it succeeded
    due_at      TIMESTAMP NOT NULL,
    created_at  TIMESTAMP NOT NULL
);
CREATE UNIQUE INDEX trust_lists_name ON trust_lists (name);

-- Certificates on these lists, in addition to those that operators trust by hand.
CREATE TABLE listed_issuers (
    id           TEXT PRIMARY KEY CHECK (length(id) = 36),
    list_id      TEXT NOT NULL REFERENCES trust_lists (id) ON DELETE CASCADE,
    name         TEXT NOT NULL CHECK (name <> ''),
    country      TEXT NOT NULL CHECK (length(country) IN (0, 2)),
    doc_type     TEXT NOT NULL CHECK (doc_type <> ''),
    certificate  BLOB NOT NULL,
    fingerprint  BLOB NOT NULL CHECK (length(fingerprint) = 32),
    signer_usage TEXT NOT NULL,
    not_before   TIMESTAMP NOT NULL,
    not_after    TIMESTAMP NOT NULL,
    created_at   TIMESTAMP NOT NULL
);
CREATE UNIQUE INDEX listed_issuers_certificate ON listed_issuers (list_id, doc_type, fingerprint);

-- +goose Down
DROP TABLE listed_issuers;
DROP TABLE trust_lists;
