-- +goose Up
-- When the last backup was made that leaves no trace, such as a copy of the file.
CREATE TABLE backups (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    made_at TIMESTAMP NOT NULL
);

-- +goose Down
DROP TABLE backups;
