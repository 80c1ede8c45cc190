-- +goose NO TRANSACTION
-- +goose Up
-- The merchant's order, from the session's own success URL, by which support finds
-- it. Not in a transaction, because the index is built while others write; every
-- statement can be repeated.
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS order_ref text NOT NULL DEFAULT '';
DROP INDEX CONCURRENTLY IF EXISTS sessions_order;
CREATE INDEX CONCURRENTLY sessions_order ON sessions (tenant_id, livemode, order_ref, id) WHERE order_ref <> '';

-- +goose Down
DROP INDEX sessions_order;
ALTER TABLE sessions DROP COLUMN order_ref;
