-- +goose Up
-- How camera checks ended and how their estimates are distributed, by hour and
-- family of browsers. Estimates of fewer than 50 people together are never stored.
CREATE TABLE drift_hours (
    hour      timestamptz NOT NULL,
    family    text NOT NULL,
    estimator text NOT NULL,
    checks    bigint NOT NULL CHECK (checks = 0 OR checks >= 50),
    estimates bigint NOT NULL CHECK (estimates = 0 OR estimates >= 50),
    counts    text NOT NULL,
    PRIMARY KEY (hour, family, estimator)
);
-- The governor's one state.
CREATE TABLE drift_state (
    id     smallint PRIMARY KEY CHECK (id = 1),
    raised double precision NOT NULL CHECK (raised >= 0),
    state  text NOT NULL
);

-- +goose Down
DROP TABLE drift_state;
DROP TABLE drift_hours;
