-- +goose Up
-- QA cards: links that make test sessions with one outcome.
CREATE TABLE qa_cards (
    id         TEXT PRIMARY KEY CHECK (length(id) = 36),
    tenant_id  TEXT NOT NULL REFERENCES tenants (id) CHECK (length(tenant_id) = 36),
    link_hash  BLOB NOT NULL UNIQUE CHECK (length(link_hash) = 32),
    name       TEXT NOT NULL,
    outcome    TEXT NOT NULL CHECK (outcome IN ('verified', 'fallback', 'spoof')),
    target_age INTEGER NOT NULL CHECK (target_age BETWEEN 13 AND 99),
    created_at TIMESTAMP NOT NULL,
    day        TEXT NOT NULL DEFAULT '', -- UTC day of the last scan, 2006-01-02
    used       INTEGER NOT NULL DEFAULT 0 CHECK (used >= 0) -- sessions made on that day
);
CREATE INDEX qa_cards_tenant ON qa_cards (tenant_id, id);

-- +goose Down
DROP TABLE qa_cards;
