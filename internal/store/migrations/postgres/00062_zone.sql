-- +goose Up
ALTER TABLE users ADD COLUMN zone text NOT NULL DEFAULT ''; -- IANA name; empty: UTC

-- +goose Down
ALTER TABLE users DROP COLUMN zone;
