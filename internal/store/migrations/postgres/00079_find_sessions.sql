-- +goose NO TRANSACTION
-- +goose Up
-- Sessions are found by what people say of them: the last 8 characters of the ID, which
-- lists show; the order in any case of its ASCII letters, from its beginning; and the
-- number at its end, such as 517 of 2026-00517. An order that is such a number itself is
-- found by its beginning, so the index of numbers leaves it out. Webhook events are found
-- by the end of their ID too. The indexes of IDs begin with the last 3 characters: new rows
-- are added at 4,096 places, which stay in memory, and not at random ones, and a search
-- reads one in 4,096 rows. Not in a transaction, because the indexes are built while
-- others write; every statement can be repeated.
DROP INDEX CONCURRENTLY IF EXISTS sessions_id_end;
CREATE INDEX CONCURRENTLY sessions_id_end ON sessions (substr(CAST(id AS text), 34), id);
DROP INDEX CONCURRENTLY IF EXISTS webhook_events_id_end;
CREATE INDEX CONCURRENTLY webhook_events_id_end ON webhook_events (substr(CAST(id AS text), 38), id);
DROP INDEX CONCURRENTLY IF EXISTS sessions_order_key;
CREATE INDEX CONCURRENTLY sessions_order_key ON sessions (tenant_id, livemode, lower(order_ref COLLATE "C"), id) WHERE order_ref <> '';
DROP INDEX CONCURRENTLY IF EXISTS sessions_order_number;
CREATE INDEX CONCURRENTLY sessions_order_number ON sessions (tenant_id, livemode,
    ltrim(substr(order_ref, length(rtrim(order_ref, '0123456789')) + 1), '0'), id)
    WHERE order_ref <> ltrim(substr(order_ref, length(rtrim(order_ref, '0123456789')) + 1), '0');
DROP INDEX CONCURRENTLY IF EXISTS sessions_order_prefix;

-- +goose Down
CREATE INDEX CONCURRENTLY IF NOT EXISTS sessions_order_prefix ON sessions (tenant_id, livemode, order_ref text_pattern_ops, id) WHERE order_ref <> '';
DROP INDEX CONCURRENTLY sessions_order_number;
DROP INDEX CONCURRENTLY sessions_order_key;
DROP INDEX CONCURRENTLY sessions_id_end;
DROP INDEX CONCURRENTLY webhook_events_id_end;
