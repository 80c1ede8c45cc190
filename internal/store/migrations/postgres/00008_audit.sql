-- +goose Up
-- The scope is a tenant's ID or 'instance'. There is no reference to tenants: a
-- deleted tenant's log is kept.
CREATE TABLE audit_entries (
    scope      text NOT NULL,
    seq        bigint NOT NULL CHECK (seq > 0),
    at         timestamptz NOT NULL,
    actor_kind text NOT NULL CHECK (actor_kind IN ('user', 'operator', 'cli', 'system')),
    actor_id   text NOT NULL,
    actor_name text NOT NULL,
    action     text NOT NULL CHECK (action <> ''),
    target     text NOT NULL,
    detail     text NOT NULL, -- JSON, kept to the byte because it is hashed
    prev_hash  bytea NOT NULL CHECK (octet_length(prev_hash) = 32),
    hash       bytea NOT NULL CHECK (octet_length(hash) = 32),
    PRIMARY KEY (scope, seq)
);
CREATE INDEX audit_entries_action ON audit_entries (scope, action, seq);

-- The end of each scope's chain. Its row is locked while an entry is appended.
CREATE TABLE audit_heads (
    scope text PRIMARY KEY,
    seq   bigint NOT NULL CHECK (seq >= 0),
    hash  bytea NOT NULL CHECK (octet_length(hash) = 32)
);

CREATE INDEX tenants_created ON tenants (created_at, id);

-- +goose Down
DROP INDEX tenants_created;
DROP TABLE audit_heads;
DROP TABLE audit_entries;
