-- +goose Up
-- Certificates that the gateway orders to serve https itself, and as 'account' the key
-- of its account at the directory.
CREATE TABLE certificates (
    name      TEXT PRIMARY KEY CHECK (name <> ''),
    sealed    BLOB, -- null before the first order succeeded
    not_after TIMESTAMP,
    failures  INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),
    failure   TEXT NOT NULL DEFAULT '', -- of the last order; empty if it succeeded
    due_at    TIMESTAMP NOT NULL
);

-- Answers by which a directory sees, on any replica, that the gateway has a host.
CREATE TABLE challenges (
    token   TEXT PRIMARY KEY CHECK (token <> ''),
    answer  TEXT NOT NULL,
    ends_at TIMESTAMP NOT NULL
);

-- +goose Down
DROP TABLE challenges;
DROP TABLE certificates;
