-- +goose Up
-- Where a refused shopper asks the merchant for a review.
ALTER TABLE tenants ADD COLUMN review_url TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE tenants DROP COLUMN review_url;
