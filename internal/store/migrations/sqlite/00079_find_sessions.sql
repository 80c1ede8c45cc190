-- +goose Up
-- Sessions are found by what people say of them: the last 8 characters of the ID, which
-- lists show; the order in any case of its ASCII letters, from its beginning; and the
-- number at its end, such as 517 of 2026-00517. An order that is such a number itself is
-- found by its beginning, so the index of numbers leaves it out. Webhook events are found
-- by the end of their ID too. The indexes of IDs begin with the last 3 characters: new rows
-- are added at 4,096 places, which stay in memory, and not at random ones, and a search
-- reads one in 4,096 rows.
CREATE INDEX sessions_id_end ON sessions (substr(CAST(id AS text), 34), id);
CREATE INDEX webhook_events_id_end ON webhook_events (substr(CAST(id AS text), 38), id);
DROP INDEX sessions_order;
CREATE INDEX sessions_order_key ON sessions (tenant_id, livemode, lower(order_ref), id) WHERE order_ref <> '';
CREATE INDEX sessions_order_number ON sessions (tenant_id, livemode,
    ltrim(substr(order_ref, length(rtrim(order_ref, '0123456789')) + 1), '0'), id)
    WHERE order_ref <> ltrim(substr(order_ref, length(rtrim(order_ref, '0123456789')) + 1), '0');

-- +goose Down
DROP INDEX sessions_order_number;
DROP INDEX sessions_order_key;
CREATE INDEX sessions_order ON sessions (tenant_id, livemode, order_ref, id) WHERE order_ref <> '';
DROP INDEX sessions_id_end;
DROP INDEX webhook_events_id_end;
