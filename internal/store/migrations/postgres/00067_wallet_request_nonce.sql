-- +goose Up
-- Codes for wallets name a request by its nonce, without the session's link.
CREATE INDEX wallet_requests_nonce ON wallet_requests (nonce);

-- +goose Down
DROP INDEX wallet_requests_nonce;
