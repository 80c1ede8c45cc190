-- +goose NO TRANSACTION
-- +goose Up
-- What operators and the command line did on tenants stands in the tenants' logs; the
-- operators' log lists it together. Not in a transaction, because the index is built while
-- others write; every statement can be repeated.
DROP INDEX CONCURRENTLY IF EXISTS audit_entries_operators;
CREATE INDEX CONCURRENTLY audit_entries_operators ON audit_entries (at, scope, seq)
    WHERE actor_kind IN ('operator', 'cli') AND scope <> 'instance';

-- +goose Down
DROP INDEX CONCURRENTLY audit_entries_operators;
