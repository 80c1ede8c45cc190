-- +goose Up
-- When and why the camera step went back to its beginning: a list in JSON.
ALTER TABLE sessions ADD COLUMN setbacks TEXT;

-- +goose Down
ALTER TABLE sessions DROP COLUMN setbacks;
