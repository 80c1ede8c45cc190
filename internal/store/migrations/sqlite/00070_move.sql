-- +goose Up
-- A tenant that moves to another cluster. Nothing of it may change here while it
-- leaves or arrives, whichever release of the gateway tries.
ALTER TABLE tenants ADD COLUMN move_state TEXT NOT NULL DEFAULT '' CHECK (move_state IN ('', 'leaving', 'arriving'));
ALTER TABLE tenants ADD COLUMN move_id TEXT NOT NULL DEFAULT ''; -- of the export, also after it has arrived

-- +goose StatementBegin
CREATE TRIGGER sessions_moving BEFORE UPDATE ON sessions
WHEN (SELECT move_state FROM tenants WHERE id = NEW.tenant_id) <> ''
BEGIN
    SELECT RAISE(ABORT, 'the tenant moves');
END;
-- +goose StatementEnd
-- Every creation takes a unit of a balance.
-- +goose StatementBegin
CREATE TRIGGER usage_counters_moving_insert BEFORE INSERT ON usage_counters
WHEN (SELECT move_state FROM tenants WHERE id = NEW.tenant_id) <> ''
BEGIN
    SELECT RAISE(ABORT, 'the tenant moves');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER usage_counters_moving_update BEFORE UPDATE ON usage_counters
WHEN (SELECT move_state FROM tenants WHERE id = NEW.tenant_id) <> ''
BEGIN
    SELECT RAISE(ABORT, 'the tenant moves');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER credit_balances_moving_insert BEFORE INSERT ON credit_balances
WHEN (SELECT move_state FROM tenants WHERE id = NEW.tenant_id) <> ''
BEGIN
    SELECT RAISE(ABORT, 'the tenant moves');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER credit_balances_moving_update BEFORE UPDATE ON credit_balances
WHEN (SELECT move_state FROM tenants WHERE id = NEW.tenant_id) <> ''
BEGIN
    SELECT RAISE(ABORT, 'the tenant moves');
END;
-- +goose StatementEnd
-- Deliveries under way may end.
-- +goose StatementBegin
CREATE TRIGGER webhook_events_moving BEFORE UPDATE ON webhook_events
WHEN NEW.lease_token IS NOT NULL AND NEW.lease_token IS NOT OLD.lease_token AND
    (SELECT move_state FROM tenants WHERE id = NEW.tenant_id) <> ''
BEGIN
    SELECT RAISE(ABORT, 'the tenant moves');
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER webhook_events_moving;
DROP TRIGGER credit_balances_moving_update;
DROP TRIGGER credit_balances_moving_insert;
DROP TRIGGER usage_counters_moving_update;
DROP TRIGGER usage_counters_moving_insert;
DROP TRIGGER sessions_moving;
ALTER TABLE tenants DROP COLUMN move_id;
ALTER TABLE tenants DROP COLUMN move_state;
