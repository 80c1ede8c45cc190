-- +goose Up
-- Where the hosted pages of a tenant that has left are now; empty: unknown.
ALTER TABLE tenants ADD COLUMN move_to text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE tenants DROP COLUMN move_to;
