-- +goose Up
-- Mails to staff that wait for the mail server, and those made in the last 24 hours.
CREATE TABLE mails (
    id         TEXT PRIMARY KEY CHECK (length(id) = 36),
    tenant_id  TEXT REFERENCES tenants (id) CHECK (length(tenant_id) = 36), -- null: the instance's
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

-- +goose Down
DROP TABLE mails;
