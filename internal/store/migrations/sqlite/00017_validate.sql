-- +goose Up
-- Nothing to do: SQLite has no constraints that are not valid.
SELECT 1;

-- +goose Down
SELECT 1;
