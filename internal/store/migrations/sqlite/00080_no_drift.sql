-- +goose Up
-- Estimates are no longer counted by hour, and the counts not kept. Release 0.2, which may run beside this one,
-- reads both tables of drift, so a later release drops them.
DELETE FROM drift_hours;

-- +goose Down
SELECT 1;
