-- +goose Up
-- The photo way of the document check: the shopper's consent to the comparison
-- of the faces, and how much camera time the session has used.
ALTER TABLE sessions ADD COLUMN face_match_at timestamptz;
ALTER TABLE sessions ADD COLUMN document_camera_ms bigint NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD CONSTRAINT sessions_document_camera_ms_check CHECK (document_camera_ms >= 0) NOT VALID; -- as in 00009

-- +goose Down
ALTER TABLE sessions DROP COLUMN document_camera_ms;
ALTER TABLE sessions DROP COLUMN face_match_at;
