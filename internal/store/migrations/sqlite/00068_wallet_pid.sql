-- +goose Up
-- Whether wallets are asked also for identification data (PID).
ALTER TABLE tenants ADD COLUMN wallet_pid BOOLEAN NOT NULL DEFAULT FALSE;

-- +goose Down
ALTER TABLE tenants DROP COLUMN wallet_pid;
