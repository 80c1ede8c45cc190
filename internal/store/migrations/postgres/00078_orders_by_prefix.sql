-- +goose NO TRANSACTION
-- +goose Up
-- Orders are also searched by how they begin: the index compares bytes, whatever the
-- database's collation, as SQLite's does. It serves equality as well. Not in a
-- transaction, because it is built while others write; every statement can be repeated.
DROP INDEX CONCURRENTLY IF EXISTS sessions_order_prefix;
CREATE INDEX CONCURRENTLY sessions_order_prefix ON sessions (tenant_id, livemode, order_ref text_pattern_ops, id) WHERE order_ref <> '';
DROP INDEX CONCURRENTLY IF EXISTS sessions_order;

-- +goose Down
CREATE INDEX CONCURRENTLY IF NOT EXISTS sessions_order ON sessions (tenant_id, livemode, order_ref, id) WHERE order_ref <> '';
DROP INDEX CONCURRENTLY sessions_order_prefix;
