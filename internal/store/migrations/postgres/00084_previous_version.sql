-- +goose NO TRANSACTION
-- +goose Up
-- 0.2.0 goes on writing beside this version and after a rollback. It deletes a tenant
-- without knowing these tables, and writes events without a position in the feed.
ALTER TABLE mails DROP CONSTRAINT mails_tenant_id_fkey,
    ADD CONSTRAINT mails_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE;
ALTER TABLE registrations DROP CONSTRAINT registrations_tenant_id_fkey,
    ADD CONSTRAINT registrations_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE;
ALTER TABLE test_feeds DROP CONSTRAINT test_feeds_tenant_id_fkey,
    ADD CONSTRAINT test_feeds_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE;

-- The counter's row stays locked until the transaction ends. Events are therefore
-- committed in the order of their positions, for any number of replicas and any error
-- of their clocks.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION next_feed_position() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO test_feeds (tenant_id, last) VALUES (NEW.tenant_id, 1)
        ON CONFLICT (tenant_id) DO UPDATE SET last = test_feeds.last + 1 RETURNING last INTO NEW.feed_position;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
DROP TRIGGER IF EXISTS webhook_events_position ON webhook_events;
CREATE TRIGGER webhook_events_position BEFORE INSERT OR UPDATE ON webhook_events FOR EACH ROW
    WHEN (NOT NEW.livemode AND NEW.feed_position IS NULL) EXECUTE FUNCTION next_feed_position();
-- Those that 0.2.0 wrote since the feed was made.
UPDATE webhook_events SET feed_position = NULL WHERE NOT livemode AND feed_position IS NULL;

-- +goose Down
DROP TRIGGER webhook_events_position ON webhook_events;
DROP FUNCTION next_feed_position;
