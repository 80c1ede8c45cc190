-- +goose Up
-- Two more roles. Both tables are small.
ALTER TABLE memberships
    DROP CONSTRAINT memberships_role_check,
    ADD CONSTRAINT memberships_role_check CHECK (role IN ('owner', 'developer', 'viewer', 'support', 'compliance'));
ALTER TABLE links
    DROP CONSTRAINT links_role_check,
    ADD CONSTRAINT links_role_check CHECK (role IN ('owner', 'developer', 'viewer', 'support', 'compliance'));

-- +goose Down
DELETE FROM links WHERE role IN ('support', 'compliance');
UPDATE memberships SET role = 'viewer' WHERE role IN ('support', 'compliance');
ALTER TABLE links
    DROP CONSTRAINT links_role_check,
    ADD CONSTRAINT links_role_check CHECK (role IN ('owner', 'developer', 'viewer'));
ALTER TABLE memberships
    DROP CONSTRAINT memberships_role_check,
    ADD CONSTRAINT memberships_role_check CHECK (role IN ('owner', 'developer', 'viewer'));
