-- +goose Up
-- Two more roles. SQLite changes a CHECK only by making the table again; nothing
-- refers to these two.
ALTER TABLE memberships RENAME TO memberships_old;
DROP INDEX memberships_user;
CREATE TABLE memberships (
    tenant_id  TEXT NOT NULL REFERENCES tenants (id) CHECK (length(tenant_id) = 36),
    user_id    TEXT NOT NULL REFERENCES users (id) CHECK (length(user_id) = 36),
    role       TEXT NOT NULL CHECK (role IN ('owner', 'developer', 'viewer', 'support', 'compliance')),
    created_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, user_id)
);
CREATE INDEX memberships_user ON memberships (user_id);
INSERT INTO memberships (tenant_id, user_id, role, created_at) SELECT tenant_id, user_id, role, created_at FROM memberships_old;
DROP TABLE memberships_old;

ALTER TABLE links RENAME TO links_old;
DROP INDEX links_expiry;
DROP INDEX links_tenant;
DROP INDEX links_setup;
CREATE TABLE links (
    hash       BLOB PRIMARY KEY CHECK (length(hash) = 32),
    kind       TEXT NOT NULL CHECK (kind IN ('setup', 'invitation', 'recovery')),
    tenant_id  TEXT REFERENCES tenants (id) CHECK (length(tenant_id) = 36), -- of an invitation; of a setup link, the tenant the operator will own
    role       TEXT CHECK (role IN ('owner', 'developer', 'viewer', 'support', 'compliance')),
    user_id    TEXT REFERENCES users (id) CHECK (length(user_id) = 36), -- whom a recovery link is for
    created_by TEXT REFERENCES users (id) CHECK (length(created_by) = 36), -- null: made by the server or a command
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    CHECK (kind <> 'invitation' OR tenant_id IS NOT NULL AND role IS NOT NULL),
    CHECK ((kind = 'recovery') = (user_id IS NOT NULL))
);
CREATE INDEX links_expiry ON links (expires_at);
CREATE INDEX links_tenant ON links (tenant_id);
-- There is at most one setup link.
CREATE UNIQUE INDEX links_setup ON links (kind) WHERE kind = 'setup';
INSERT INTO links (hash, kind, tenant_id, role, user_id, created_by, created_at, expires_at) SELECT hash, kind, tenant_id, role, user_id, created_by, created_at, expires_at FROM links_old;
DROP TABLE links_old;

-- +goose Down
DELETE FROM links WHERE role IN ('support', 'compliance');
UPDATE memberships SET role = 'viewer' WHERE role IN ('support', 'compliance');
ALTER TABLE memberships RENAME TO memberships_old;
DROP INDEX memberships_user;
CREATE TABLE memberships (
    tenant_id  TEXT NOT NULL REFERENCES tenants (id) CHECK (length(tenant_id) = 36),
    user_id    TEXT NOT NULL REFERENCES users (id) CHECK (length(user_id) = 36),
    role       TEXT NOT NULL CHECK (role IN ('owner', 'developer', 'viewer')),
    created_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, user_id)
);
CREATE INDEX memberships_user ON memberships (user_id);
INSERT INTO memberships (tenant_id, user_id, role, created_at) SELECT tenant_id, user_id, role, created_at FROM memberships_old;
DROP TABLE memberships_old;

ALTER TABLE links RENAME TO links_old;
DROP INDEX links_expiry;
DROP INDEX links_tenant;
DROP INDEX links_setup;
CREATE TABLE links (
    hash       BLOB PRIMARY KEY CHECK (length(hash) = 32),
    kind       TEXT NOT NULL CHECK (kind IN ('setup', 'invitation', 'recovery')),
    tenant_id  TEXT REFERENCES tenants (id) CHECK (length(tenant_id) = 36), -- of an invitation; of a setup link, the tenant the operator will own
    role       TEXT CHECK (role IN ('owner', 'developer', 'viewer')),
    user_id    TEXT REFERENCES users (id) CHECK (length(user_id) = 36), -- whom a recovery link is for
    created_by TEXT REFERENCES users (id) CHECK (length(created_by) = 36), -- null: made by the server or a command
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    CHECK (kind <> 'invitation' OR tenant_id IS NOT NULL AND role IS NOT NULL),
    CHECK ((kind = 'recovery') = (user_id IS NOT NULL))
);
CREATE INDEX links_expiry ON links (expires_at);
CREATE INDEX links_tenant ON links (tenant_id);
-- There is at most one setup link.
CREATE UNIQUE INDEX links_setup ON links (kind) WHERE kind = 'setup';
INSERT INTO links (hash, kind, tenant_id, role, user_id, created_by, created_at, expires_at) SELECT hash, kind, tenant_id, role, user_id, created_by, created_at, expires_at FROM links_old;
DROP TABLE links_old;
