-- +goose Up
-- What operators and the command line did on tenants stands in the tenants' logs; the
-- operators' log lists it together.
CREATE INDEX audit_entries_operators ON audit_entries (at, scope, seq)
    WHERE actor_kind IN ('operator', 'cli') AND scope <> 'instance';

-- +goose Down
DROP INDEX audit_entries_operators;
