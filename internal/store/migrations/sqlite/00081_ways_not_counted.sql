-- +goose Up
-- The ways in which documents were read are no longer counted by hour.
ALTER TABLE session_hours DROP COLUMN photo;
ALTER TABLE session_hours DROP COLUMN wallet;

-- +goose Down
ALTER TABLE session_hours ADD COLUMN wallet INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session_hours ADD COLUMN photo INTEGER NOT NULL DEFAULT 0;
