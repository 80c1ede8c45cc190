-- +goose NO TRANSACTION
-- +goose Up
-- Positions in the order of commits, for clients that follow a tenant's test
-- events: the counter's row stays locked until the event that took a position is
-- committed. Not in a transaction, because the index is built while others write;
-- every statement can be repeated.
CREATE TABLE IF NOT EXISTS test_feeds (
    tenant_id uuid PRIMARY KEY REFERENCES tenants (id),
    last      bigint NOT NULL CHECK (last > 0)
);
ALTER TABLE webhook_events ADD COLUMN IF NOT EXISTS feed_position bigint;
UPDATE webhook_events SET feed_position = numbered.position FROM (
    SELECT id, row_number() OVER (PARTITION BY tenant_id ORDER BY id) AS position FROM webhook_events WHERE NOT livemode
) AS numbered WHERE webhook_events.id = numbered.id;
INSERT INTO test_feeds (tenant_id, last)
    SELECT tenant_id, max(feed_position) FROM webhook_events WHERE NOT livemode GROUP BY tenant_id
    ON CONFLICT (tenant_id) DO UPDATE SET last = excluded.last;
DROP INDEX CONCURRENTLY IF EXISTS webhook_events_feed;
CREATE INDEX CONCURRENTLY webhook_events_feed ON webhook_events (tenant_id, feed_position) WHERE NOT livemode;

-- +goose Down
ALTER TABLE webhook_events DROP COLUMN feed_position;
DROP TABLE test_feeds;
