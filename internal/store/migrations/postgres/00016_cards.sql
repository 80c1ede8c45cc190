-- +goose Up
-- QA cards: links that make test sessions with one outcome.
CREATE TABLE qa_cards (
    id         uuid PRIMARY KEY,
    tenant_id  uuid NOT NULL REFERENCES tenants (id),
    link_hash  bytea NOT NULL UNIQUE CHECK (length(link_hash) = 32),
    name       text NOT NULL,
    outcome    text NOT NULL CHECK (outcome IN ('verified', 'fallback', 'spoof')),
    target_age smallint NOT NULL CHECK (target_age BETWEEN 13 AND 99),
    created_at timestamptz NOT NULL,
    day        text NOT NULL DEFAULT '', -- UTC day of the last scan, 2006-01-02
    used       bigint NOT NULL DEFAULT 0 CHECK (used >= 0) -- sessions made on that day
);
CREATE INDEX qa_cards_tenant ON qa_cards (tenant_id, id);

-- +goose Down
DROP TABLE qa_cards;
