-- +goose Up
-- Certificates that the gateway orders to serve https itself, and as 'account' the key
-- of its account at the directory.
CREATE TABLE certificates (
    name      text PRIMARY KEY CHECK (name <> ''),
    sealed    bytea, -- null before the first order succeeded
    not_after timestamptz,
    failures  bigint NOT NULL DEFAULT 0 CHECK (failures >= 0),
    failure   text NOT NULL DEFAULT '', -- of the last order; empty if it succeeded
    due_at    timestamptz NOT NULL
);

-- Answers by which a directory sees, on any replica, that the gateway has a host.
CREATE TABLE challenges (
    token   text PRIMARY KEY CHECK (token <> ''),
    answer  text NOT NULL,
    ends_at timestamptz NOT NULL
);

-- +goose Down
DROP TABLE challenges;
DROP TABLE certificates;
