-- +goose Up
-- Positions in the order of commits, for clients that follow a tenant's test events.
CREATE TABLE test_feeds (
    tenant_id TEXT PRIMARY KEY REFERENCES tenants (id) CHECK (length(tenant_id) = 36),
    last      INTEGER NOT NULL CHECK (last > 0)
);
ALTER TABLE webhook_events ADD COLUMN feed_position INTEGER;
UPDATE webhook_events SET feed_position = numbered.position FROM (
    SELECT id, row_number() OVER (PARTITION BY tenant_id ORDER BY id) AS position FROM webhook_events WHERE NOT livemode
) AS numbered WHERE webhook_events.id = numbered.id;
INSERT INTO test_feeds (tenant_id, last)
    SELECT tenant_id, max(feed_position) FROM webhook_events WHERE NOT livemode GROUP BY tenant_id;
CREATE INDEX webhook_events_feed ON webhook_events (tenant_id, feed_position) WHERE NOT livemode;

-- +goose Down
DROP INDEX webhook_events_feed;
ALTER TABLE webhook_events DROP COLUMN feed_position;
DROP TABLE test_feeds;
