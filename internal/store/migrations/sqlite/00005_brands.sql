-- +goose Up
ALTER TABLE tenants ADD COLUMN privacy_url TEXT NOT NULL DEFAULT '';
ALTER TABLE tenants ADD COLUMN help_url TEXT NOT NULL DEFAULT '';
ALTER TABLE tenants ADD COLUMN terms_url TEXT NOT NULL DEFAULT '';

-- How a tenant's hosted page looks; empty values are not set.
CREATE TABLE brands (
    tenant_id TEXT PRIMARY KEY REFERENCES tenants (id),
    name      TEXT NOT NULL DEFAULT '',
    colour    TEXT NOT NULL DEFAULT '' CHECK (length(colour) IN (0, 6)),
    logo      BLOB,
    logo_hash TEXT NOT NULL DEFAULT '' CHECK (length(logo_hash) IN (0, 32)),
    CHECK ((logo IS NULL) = (logo_hash = ''))
);
CREATE INDEX brands_logo ON brands (logo_hash) WHERE logo_hash <> '';

-- +goose Down
DROP TABLE brands;
ALTER TABLE tenants DROP COLUMN terms_url;
ALTER TABLE tenants DROP COLUMN help_url;
ALTER TABLE tenants DROP COLUMN privacy_url;
