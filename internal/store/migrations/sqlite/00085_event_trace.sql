-- +goose Up
-- The span that inserted the event, in the form of traceparent, for the spans of its attempts.
ALTER TABLE webhook_events ADD COLUMN trace TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE webhook_events DROP COLUMN trace;
