-- +goose Up
-- Runs of the certifier; the last ones of each tenant are kept.
CREATE TABLE certifications (
    id          uuid PRIMARY KEY,
    tenant_id   uuid NOT NULL REFERENCES tenants (id),
    endpoint_id text NOT NULL,
    started_at  timestamptz NOT NULL,
    finished_at timestamptz,
    passed      boolean NOT NULL,
    results     text NOT NULL -- JSON
);
CREATE INDEX certifications_tenant ON certifications (tenant_id, started_at);

-- When a tenant's hosts were last tested. Only the last ten minutes are kept.
CREATE TABLE certified_hosts (
    tenant_id  uuid NOT NULL REFERENCES tenants (id),
    host       text NOT NULL,
    started_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, host)
);

-- +goose Down
DROP TABLE certified_hosts;
DROP TABLE certifications;
