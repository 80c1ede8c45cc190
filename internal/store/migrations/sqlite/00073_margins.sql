-- +goose Up
-- The tenant's own margins by target age, such as '16=3 18=9'.
ALTER TABLE tenants ADD COLUMN margins text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE tenants DROP COLUMN margins;
