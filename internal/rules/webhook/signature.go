package webhook

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// The sizes of a key that Standard Webhooks 1.0 allows, in bytes. The library itself
// accepts any size, even an empty key.
const (
	MinKeyBytes = 24
	MaxKeyBytes = 64
)

var errKeyLength = fmt.Errorf("webhook: a signing key has %d to %d bytes", MinKeyBytes, MaxKeyBytes)

// Sign returns the three Standard Webhooks headers of a delivery sent at the
// given time: one signature per key, in the order of keys. There are several
// keys while a secret rotates.
func Sign(keys [][]byte, id string, at time.Time, body []byte) (http.Header, error) {
	if len(keys) == 0 {
		return nil, errors.New("webhook: no signing key")
	}
	signatures := make([]string, 0, len(keys))
	for _, key := range keys {
		signature, err := signOnce(key, id, at, body)
		if err != nil {
			return nil, err
		}
		signatures = append(signatures, signature)
	}
	header := make(http.Header, 3)
	header.Set(standardwebhooks.HeaderWebhookID, id)
	header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	header.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	return header, nil
}

// signOnce returns "v1," and the base64 of HMAC-SHA256 over "id.timestamp.body".
func signOnce(key []byte, id string, at time.Time, body []byte) (string, error) {
	if len(key) < MinKeyBytes || len(key) > MaxKeyBytes {
		return "", errKeyLength
	}
	signer, err := standardwebhooks.NewWebhookRaw(key)
	if err != nil {
		return "", fmt.Errorf("webhook: signer: %w", err)
	}
	return signer.Sign(id, at, body)
}
