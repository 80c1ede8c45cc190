-- +goose Up
-- Reads all sessions, but holds up no writer. Does nothing where the constraints
-- were valid from the start.
ALTER TABLE sessions
    VALIDATE CONSTRAINT sessions_document_way_check,
    VALIDATE CONSTRAINT sessions_document_attempts_check,
    VALIDATE CONSTRAINT sessions_check1,
    VALIDATE CONSTRAINT sessions_document_camera_ms_check;

-- +goose Down
SELECT 1;
