-- +goose Up
-- How camera checks ended and how their estimates are distributed, by hour and
-- family of browsers. Estimates of fewer than 50 people together are never stored.
CREATE TABLE drift_hours (
    hour      TIMESTAMP NOT NULL,
    family    TEXT NOT NULL,
    estimator TEXT NOT NULL,
    checks    INTEGER NOT NULL CHECK (checks = 0 OR checks >= 50),
    estimates INTEGER NOT NULL CHECK (estimates = 0 OR estimates >= 50),
    counts    TEXT NOT NULL,
    PRIMARY KEY (hour, family, estimator)
);
-- The governor's one state.
CREATE TABLE drift_state (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    raised REAL NOT NULL CHECK (raised >= 0),
    state  TEXT NOT NULL
);

-- +goose Down
DROP TABLE drift_state;
DROP TABLE drift_hours;
