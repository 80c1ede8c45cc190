-- +goose Up
-- Runs of the certifier; the last ones of each tenant are kept.
CREATE TABLE certifications (
    id          TEXT PRIMARY KEY CHECK (length(id) = 36),
    tenant_id   TEXT NOT NULL REFERENCES tenants (id) CHECK (length(tenant_id) = 36),
    endpoint_id TEXT NOT NULL,
    started_at  TIMESTAMP NOT NULL,
    finished_at TIMESTAMP,
    passed      BOOLEAN NOT NULL,
    results     TEXT NOT NULL -- JSON
);
CREATE INDEX certifications_tenant ON certifications (tenant_id, started_at);

-- When a tenant's hosts were last tested. Only the last ten minutes are kept.
CREATE TABLE certified_hosts (
    tenant_id  TEXT NOT NULL REFERENCES tenants (id) CHECK (length(tenant_id) = 36),
    host       TEXT NOT NULL,
    started_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, host)
);

-- +goose Down
DROP TABLE certified_hosts;
DROP TABLE certifications;
