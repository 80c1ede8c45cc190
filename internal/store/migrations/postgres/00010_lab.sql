-- +goose Up
-- The test clock: the next redirect of a test session is made already expired.
ALTER TABLE sessions ADD COLUMN next_redirect_expired boolean NOT NULL DEFAULT FALSE;
ALTER TABLE sessions ADD CONSTRAINT sessions_check1 CHECK (NOT (next_redirect_expired AND livemode)) NOT VALID; -- as in 00009

-- What live checks come to by target age, over all tenants.
CREATE INDEX session_hours_live ON session_hours (hour) WHERE livemode;

-- +goose Down
DROP INDEX session_hours_live;
ALTER TABLE sessions DROP COLUMN next_redirect_expired;
