-- +goose Up
-- Orders are also searched by how they begin, which SQLite's index of them can do.
SELECT 1;

-- +goose Down
SELECT 1;
