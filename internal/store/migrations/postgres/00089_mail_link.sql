-- +goose Up
-- The link that a mail carries: it is not sent once that was used, replaced or revoked.
ALTER TABLE mails ADD COLUMN link bytea;

-- +goose Down
ALTER TABLE mails DROP COLUMN link;
