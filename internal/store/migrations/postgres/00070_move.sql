-- +goose NO TRANSACTION
-- +goose Up
-- A tenant that moves to another cluster. Nothing of it may change here while it
-- leaves or arrives, whichever release of the gateway tries: the triggers lock the
-- tenant as a foreign key does, and read the state that the move has committed.
--
-- Not in a transaction, because writers would wait for the locks of two tables in
-- another order. Every statement can be repeated.
ALTER TABLE tenants
    ADD COLUMN IF NOT EXISTS move_state text NOT NULL DEFAULT '' CHECK (move_state IN ('', 'leaving', 'arriving')),
    ADD COLUMN IF NOT EXISTS move_id text NOT NULL DEFAULT ''; -- of the export, also after it has arrived

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION refuse_moving() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    state text;
BEGIN
    SELECT move_state INTO state FROM tenants WHERE id = NEW.tenant_id FOR KEY SHARE;
    IF state <> '' THEN
        RAISE EXCEPTION 'the tenant moves' USING ERRCODE = 'AG001';
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd

DROP TRIGGER IF EXISTS sessions_moving ON sessions;
CREATE TRIGGER sessions_moving BEFORE UPDATE ON sessions FOR EACH ROW EXECUTE FUNCTION refuse_moving();
-- Every creation takes a unit of a balance.
DROP TRIGGER IF EXISTS usage_counters_moving ON usage_counters;
CREATE TRIGGER usage_counters_moving BEFORE INSERT OR UPDATE ON usage_counters FOR EACH ROW EXECUTE FUNCTION refuse_moving();
DROP TRIGGER IF EXISTS credit_balances_moving ON credit_balances;
CREATE TRIGGER credit_balances_moving BEFORE INSERT OR UPDATE ON credit_balances FOR EACH ROW EXECUTE FUNCTION refuse_moving();
-- Deliveries under way may end.
DROP TRIGGER IF EXISTS webhook_events_moving ON webhook_events;
CREATE TRIGGER webhook_events_moving BEFORE UPDATE ON webhook_events FOR EACH ROW
    WHEN (NEW.lease_token IS NOT NULL AND NEW.lease_token IS DISTINCT FROM OLD.lease_token) EXECUTE FUNCTION refuse_moving();

-- +goose Down
DROP TRIGGER IF EXISTS webhook_events_moving ON webhook_events;
DROP TRIGGER IF EXISTS credit_balances_moving ON credit_balances;
DROP TRIGGER IF EXISTS usage_counters_moving ON usage_counters;
DROP TRIGGER IF EXISTS sessions_moving ON sessions;
DROP FUNCTION IF EXISTS refuse_moving;
ALTER TABLE tenants DROP COLUMN IF EXISTS move_id;
ALTER TABLE tenants DROP COLUMN IF EXISTS move_state;
