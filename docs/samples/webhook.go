// webhook.go

package shop

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Event is the content of a webhook.
type Event struct {
	SessionID string `json:"session_id"`
	Status    string `json:"status"`
	IsAdult   bool   `json:"is_adult"`
	LiveMode  bool   `json:"livemode"`
}

// VerifiedEvent returns the event of a webhook, or an error when the delivery
// does not verify. rawBody is the body as received, secret is whsec_... An empty
// or damaged secret verifies nothing: under it, anybody could sign.
func VerifiedEvent(header http.Header, rawBody []byte, secret string) (Event, error) {
	var event Event
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) != 32 {
		return event, errors.New("the webhook secret is not whsec_ and 32 bytes in base64")
	}
	verifier, err := standardwebhooks.NewWebhookRaw(key)
	if err != nil {
		return event, err
	}
	if err := verifier.Verify(rawBody, header); err != nil {
		return event, err
	}
	return event, json.Unmarshal(rawBody, &event)
}
