-- +goose Up
-- Whether wallets are asked also for identification data (PID).
ALTER TABLE tenants ADD COLUMN wallet_pid boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE tenants DROP COLUMN wallet_pid;
