-- +goose Up
-- The open holds on one balance of a tenant, in the order of their expiry.
CREATE INDEX holds_balance ON holds (tenant_id, source, period, expires_at) WHERE status = 'open';
-- A tenant's sessions, oldest first.
CREATE INDEX sessions_tenant ON sessions (tenant_id, created_at, id);
CREATE INDEX idempotency_claims_session ON idempotency_claims (session_id);

-- +goose Down
DROP INDEX idempotency_claims_session;
DROP INDEX sessions_tenant;
DROP INDEX holds_balance;
