-- +goose Up
-- The names of the keys with which a gateway opens sealed values.
ALTER TABLE replicas ADD COLUMN keys text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE replicas DROP COLUMN keys;
