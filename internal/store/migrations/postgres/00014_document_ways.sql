-- +goose Up
-- The ways of the document check that a tenant allows, separated by spaces;
-- empty for all of them.
ALTER TABLE tenants ADD COLUMN document_ways text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE tenants DROP COLUMN document_ways;
