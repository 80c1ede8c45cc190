-- +goose Up
-- Mails to staff that wait for the mail server, and those made in the last 24 hours.
CREATE TABLE mails (
    id         uuid PRIMARY KEY,
    tenant_id  uuid REFERENCES tenants (id), -- null: the instance's
    kind       text NOT NULL,
    sealed     bytea, -- recipient and text; null once sent or given up
    attempts   bigint NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    created_at timestamptz NOT NULL,
    due_at     timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX mails_due ON mails (due_at) WHERE sealed IS NOT NULL;
CREATE INDEX mails_tenant ON mails (tenant_id, created_at);
CREATE INDEX mails_age ON mails (created_at);

-- +goose Down
DROP TABLE mails;
