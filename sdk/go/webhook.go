// webhook.go

package agegate

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Errors of VerifyWebhook. With any of them, answer 400 and do nothing else.
var (
	ErrWebhook       = errors.New("the webhook's signature, time or body does not verify")
	ErrWebhookSecret = errors.New("the webhook secret must be whsec_ and 32 bytes in base64")
)

var webhookSecret = regexp.MustCompile(`^whsec_([A-Za-z0-9+/]{43}=)$`) // 32 bytes

const webhookTolerance = 300 // seconds, of Standard Webhooks

// VerifyWebhook returns the event of a webhook, or an error when the delivery
// does not verify. body is the body as received. An empty or damaged secret is
// refused: under it, anybody could sign.
func VerifyWebhook(header http.Header, body []byte, secret string) (*CompletionEvent, error) {
	return verifyWebhook(time.Now(), header, body, secret)
}

func verifyWebhook(now time.Time, header http.Header, body []byte, secret string) (*CompletionEvent, error) {
	parts := webhookSecret.FindStringSubmatch(secret)
	if parts == nil {
		return nil, ErrWebhookSecret
	}
	key, _ := base64.StdEncoding.DecodeString(parts[1]) // matched
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	at, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || at < now.Unix()-webhookTolerance || at > now.Unix()+webhookTolerance {
		return nil, ErrWebhook
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	wanted := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, given := range strings.Split(header.Get("webhook-signature"), " ") {
		if hmac.Equal([]byte(wanted), []byte(given)) {
			var event CompletionEvent
			if json.Unmarshal(body, &event) != nil {
				return nil, ErrWebhook
			}
			return &event, nil
		}
	}
	return nil, ErrWebhook
}
