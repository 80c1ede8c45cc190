// webhook.go

package shop

import (
	"encoding/json"
	"net/http"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Event is what a webhook says.
type Event struct {
	SessionID string `json:"session_id"`
	Status    string `json:"status"`
	IsAdult   bool   `json:"is_adult"`
	LiveMode  bool   `json:"livemode"`
}

// VerifiedEvent returns the event of a webhook, or an error when the delivery
// does not verify. rawBody is the body as received, secret is whsec_...
func VerifiedEvent(header http.Header, rawBody []byte, secret string) (Event, error) {
	var event Event
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return event, err
	}
	if err := verifier.Verify(rawBody, header); err != nil {
		return event, err
	}
	return event, json.Unmarshal(rawBody, &event)
}
