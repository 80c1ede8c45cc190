-- +goose Up
-- The shopper chose the document check instead of the camera.
ALTER TABLE sessions ADD COLUMN document_preferred BOOLEAN NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE sessions DROP COLUMN document_preferred;
