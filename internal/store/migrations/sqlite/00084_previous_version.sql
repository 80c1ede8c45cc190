-- +goose Up
-- 0.2.0 goes on writing beside this version and after a rollback. It deletes a tenant
-- without knowing these tables, and writes events without a position in the feed.
ALTER TABLE mails RENAME TO mails_old;
DROP INDEX mails_due;
DROP INDEX mails_tenant;
DROP INDEX mails_age;
CREATE TABLE mails (
    id         TEXT PRIMARY KEY CHECK (length(id) = 36),
    tenant_id  TEXT REFERENCES tenants (id) ON DELETE CASCADE CHECK (length(tenant_id) = 36), -- null: the instance's
    kind       TEXT NOT NULL,
    sealed     BLOB, -- recipient and text; null once sent or given up
    attempts   INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    created_at TIMESTAMP NOT NULL,
    due_at     TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL
);
CREATE INDEX mails_due ON mails (due_at) WHERE sealed IS NOT NULL;
CREATE INDEX mails_tenant ON mails (tenant_id, created_at);
CREATE INDEX mails_age ON mails (created_at);
INSERT INTO mails (id, tenant_id, kind, sealed, attempts, created_at, due_at, expires_at)
    SELECT id, tenant_id, kind, sealed, attempts, created_at, due_at, expires_at FROM mails_old;
DROP TABLE mails_old;

ALTER TABLE registrations RENAME TO registrations_old;
DROP INDEX registrations_owner;
CREATE TABLE registrations (
    id         TEXT PRIMARY KEY CHECK (length(id) = 36),
    tenant_id  TEXT REFERENCES tenants (id) ON DELETE CASCADE,
    text       TEXT NOT NULL,
    not_after  TIMESTAMP,
    created_at TIMESTAMP NOT NULL
);
CREATE UNIQUE INDEX registrations_owner ON registrations (COALESCE(tenant_id, ''));
INSERT INTO registrations (id, tenant_id, text, not_after, created_at)
    SELECT id, tenant_id, text, not_after, created_at FROM registrations_old;
DROP TABLE registrations_old;

ALTER TABLE test_feeds RENAME TO test_feeds_old;
CREATE TABLE test_feeds (
    tenant_id TEXT PRIMARY KEY REFERENCES tenants (id) ON DELETE CASCADE CHECK (length(tenant_id) = 36),
    last      INTEGER NOT NULL CHECK (last > 0)
);
INSERT INTO test_feeds (tenant_id, last) SELECT tenant_id, last FROM test_feeds_old;
DROP TABLE test_feeds_old;

-- +goose StatementBegin
CREATE TRIGGER webhook_events_position AFTER INSERT ON webhook_events WHEN NOT NEW.livemode AND NEW.feed_position IS NULL
BEGIN
    INSERT INTO test_feeds (tenant_id, last) VALUES (NEW.tenant_id, 1)
        ON CONFLICT (tenant_id) DO UPDATE SET last = last + 1;
    UPDATE webhook_events SET feed_position = (SELECT last FROM test_feeds WHERE tenant_id = NEW.tenant_id)
        WHERE id = NEW.id;
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER webhook_events_position;
