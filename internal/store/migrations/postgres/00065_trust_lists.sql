-- +goose Up
-- Published lists of issuers that the gateway follows.
CREATE TABLE trust_lists (
    id          uuid PRIMARY KEY,
    name        text NOT NULL CHECK (name <> ''),
    format      text NOT NULL CHECK (format IN ('av', 'lote', 'vical')),
    url         text NOT NULL, -- empty: imported from files
    list_type   text NOT NULL,
    doc_type    text NOT NULL, -- of its issuers' documents; empty: the list says it
    signers     bytea NOT NULL, -- pinned certificates
    sequence    bigint NOT NULL DEFAULT 0 CHECK (sequence >= 0),
    digest      bytea CHECK (octet_length(digest) = 32), -- null before the first synchronisation, as the next three
    issued_at   timestamptz,
    next_update timestamptz,
    synced_at   timestamptz,
    failure     text NOT NULL DEFAULT '', -- of the last attempt; empty if it succeeded
    due_at      timestamptz NOT NULL,
    created_at  timestamptz NOT NULL
);
CREATE UNIQUE INDEX trust_lists_name ON trust_lists (name);

-- Certificates on these lists, in addition to those that operators trust by hand.
CREATE TABLE listed_issuers (
    id           uuid PRIMARY KEY,
    list_id      uuid NOT NULL REFERENCES trust_lists (id) ON DELETE CASCADE,
    name         text NOT NULL CHECK (name <> ''),
    country      text NOT NULL CHECK (length(country) IN (0, 2)),
    doc_type     text NOT NULL CHECK (doc_type <> ''),
    certificate  bytea NOT NULL,
    fingerprint  bytea NOT NULL CHECK (octet_length(fingerprint) = 32),
    signer_usage text NOT NULL,
    not_before   timestamptz NOT NULL,
    not_after    timestamptz NOT NULL,
    created_at   timestamptz NOT NULL
);
CREATE UNIQUE INDEX listed_issuers_certificate ON listed_issuers (list_id, doc_type, fingerprint);

-- +goose Down
DROP TABLE listed_issuers;
DROP TABLE trust_lists;
