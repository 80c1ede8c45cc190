-- +goose Up
-- When the last backup was made that leaves no trace on the server, such as a dump.
CREATE TABLE backups (
    id      smallint PRIMARY KEY CHECK (id = 1),
    made_at timestamptz NOT NULL
);

-- +goose Down
DROP TABLE backups;
