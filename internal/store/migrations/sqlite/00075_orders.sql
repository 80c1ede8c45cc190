-- +goose Up
-- The merchant's order, from the session's own success URL, by which support finds it.
ALTER TABLE sessions ADD COLUMN order_ref TEXT NOT NULL DEFAULT '';
CREATE INDEX sessions_order ON sessions (tenant_id, livemode, order_ref, id) WHERE order_ref <> '';

-- +goose Down
DROP INDEX sessions_order;
ALTER TABLE sessions DROP COLUMN order_ref;
