-- +goose Up
-- The scope is a tenant's ID or 'instance'. There is no reference to tenants: a
-- deleted tenant's log is kept.
CREATE TABLE audit_entries (
    scope      TEXT NOT NULL,
    seq        INTEGER NOT NULL CHECK (seq > 0),
    at         TIMESTAMP NOT NULL,
    actor_kind TEXT NOT NULL CHECK (actor_kind IN ('user', 'operator', 'cli', 'system')),
    actor_id   TEXT NOT NULL,
    actor_name TEXT NOT NULL,
    action     TEXT NOT NULL CHECK (action <> ''),
    target     TEXT NOT NULL,
    detail     TEXT NOT NULL, -- JSON, kept to the byte because it is hashed
    prev_hash  BLOB NOT NULL CHECK (length(prev_hash) = 32),
    hash       BLOB NOT NULL CHECK (length(hash) = 32),
    PRIMARY KEY (scope, seq)
);
CREATE INDEX audit_entries_action ON audit_entries (scope, action, seq);

-- The end of each scope's chain. Its row is locked while an entry is appended.
CREATE TABLE audit_heads (
    scope TEXT PRIMARY KEY,
    seq   INTEGER NOT NULL CHECK (seq >= 0),
    hash  BLOB NOT NULL CHECK (length(hash) = 32)
);

CREATE INDEX tenants_created ON tenants (created_at, id);

-- +goose Down
DROP INDEX tenants_created;
DROP TABLE audit_heads;
DROP TABLE audit_entries;
