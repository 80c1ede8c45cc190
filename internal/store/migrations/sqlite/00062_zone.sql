-- +goose Up
ALTER TABLE users ADD COLUMN zone TEXT NOT NULL DEFAULT ''; -- IANA name; empty: UTC

-- +goose Down
ALTER TABLE users DROP COLUMN zone;
