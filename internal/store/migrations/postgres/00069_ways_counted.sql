-- +goose Up
-- Of the counted sessions, those that a document decided, by the way in which it
-- was read. Hours that were folded before have 0 in both.
ALTER TABLE session_hours ADD COLUMN wallet bigint NOT NULL DEFAULT 0;
ALTER TABLE session_hours ADD COLUMN photo bigint NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE session_hours DROP COLUMN photo;
ALTER TABLE session_hours DROP COLUMN wallet;
