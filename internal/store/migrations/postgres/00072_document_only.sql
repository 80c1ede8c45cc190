-- +goose Up
-- Whether shoppers show a document instead of having their age estimated.
ALTER TABLE tenants ADD COLUMN document_only boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE tenants DROP COLUMN document_only;
