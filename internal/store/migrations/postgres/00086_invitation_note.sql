-- +goose Up
-- For whom an invitation is, as its maker calls them.
ALTER TABLE links ADD COLUMN note text;

-- +goose Down
ALTER TABLE links DROP COLUMN note;
