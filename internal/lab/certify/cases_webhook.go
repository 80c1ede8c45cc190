package certify

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"agegate/internal/lab/verify"
	"agegate/internal/rules/webhook"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// tooFar is a clock difference larger than verify.Tolerance allows.
const tooFar = verify.Tolerance + time.Minute

// atOnce is how many deliveries of one event arrive together.
const atOnce = 20

const onceFix = "Make the release one conditional statement of your database, such as UPDATE … WHERE released_at IS " +
	"NULL, and look at how many rows it changed."

const emptyKeyFix = "Refuse to start, and to verify, unless the secret decodes to exactly 32 bytes. A variable that " +
	"was never set gives the empty key, under which anybody can sign; check the secrets of a rotation one by one, too."

var webhookCases = []testCase{
	{
		name: "webhook.good", releases: true, title: "A good delivery is answered with 2xx in time, and releases the order",
		fix: "Verify with the test webhook secret (whsec_…), answer 2xx within 15 seconds and do slow work afterwards.",
		act: func(t *trial) error { return t.sendGood(nil) },
	},
	{
		name: "webhook.flipped", orders: 2, title: "A delivery with one byte of its body or its signature changed is refused",
		fix: "Verify the signature over the raw bytes of the body before anything reads it; a library of Standard Webhooks " +
			"does: new Webhook(secret).verify(rawBody, headers).",
		act: func(t *trial) error {
			if err := t.sendForged(func(d *delivery) {
				d.what, d.alter = "near the end of the signature", func(h http.Header) {
					h.Set(standardwebhooks.HeaderWebhookSignature, flip(h.Get(standardwebhooks.HeaderWebhookSignature), 3))
				}
			}); err != nil {
				return err
			}
			return t.sendForged(func(d *delivery) {
				// The signature is for another session's event; the body that is sent differs from
				// it in one digit.
				id := d.to.session.ID.String()
				last := byte('0')
				if id[len(id)-1] == '0' {
					last = '1'
				}
				d.signed = bytes.Replace(d.body, []byte(id), []byte(id[:len(id)-1]+string(last)), 1)
			})
		},
	},
	{
		name: "webhook.foreign-secret", title: "A delivery signed with another secret is refused",
		fix: "Compare the signature with the HMAC-SHA256 that you compute under your own secret, in constant time. That " +
			"the header is there proves nothing.",
		act: func(t *trial) error {
			return t.sendForged(func(d *delivery) { d.keys = [][]byte{t.foreignKey} })
		},
	},
	{
		name: "webhook.stale", title: "A delivery signed six minutes ago is refused",
		fix: "Refuse a webhook-timestamp more than five minutes behind your clock, so that a recorded delivery cannot be " +
			"sent again.",
		act: func(t *trial) error {
			return t.sendForged(func(d *delivery) { d.at = d.at.Add(-tooFar) })
		},
	},
	{
		name: "webhook.early", title: "A delivery dated six minutes ahead is refused",
		fix: "Refuse a webhook-timestamp more than five minutes ahead of your clock, too.",
		act: func(t *trial) error {
			return t.sendForged(func(d *delivery) { d.at = d.at.Add(tooFar) })
		},
	},
	{
		name: "webhook.missing-header", title: "A delivery without one of its three headers is refused",
		fix: "Require webhook-id, webhook-timestamp and webhook-signature; let none of them default to an empty text or to " +
			"the present time.",
		act: func(t *trial) error {
			d, err := t.good()
			if err != nil {
				return err
			}
			for _, name := range []string{standardwebhooks.HeaderWebhookID, standardwebhooks.HeaderWebhookTimestamp,
				standardwebhooks.HeaderWebhookSignature} {
				d.what, d.alter = "without "+name, func(h http.Header) { h.Del(name) }
				if err := t.send(d, refuse); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		name: "webhook.get", title: "An event in the query of a GET request to the Webhook URL releases nothing",
		fix: "Take deliveries by POST alone, and verify every one.",
		act: func(t *trial) error {
			o, err := t.order()
			if err != nil {
				return err
			}
			event := url.Values{"type": {"session.completed"}, "session_id": {o.session.ID.String()}, "status": {"VERIFIED"},
				"is_adult": {"true"}, "livemode": {"false"}}
			t.arrived(t.get(o, o.session.WebhookURL+"?"+event.Encode()), "")
			return nil
		},
	},
	{
		name: "webhook.swapped-id", title: "A delivery under the webhook-id of another is refused",
		fix: "Include webhook-id in what you verify: the signature is over \"id.timestamp.body\". Otherwise an old " +
			"delivery passes as a new one.",
		act: func(t *trial) error {
			return t.sendForged(func(d *delivery) {
				d.alter = func(h http.Header) { h.Set(standardwebhooks.HeaderWebhookID, "evt_"+newID().String()) }
			})
		},
	},
	{
		name: "webhook.empty-signature", title: "A delivery with an empty signature is refused",
		fix: "Compare whole signatures: an empty one, or the beginning of one, must not match.",
		act: func(t *trial) error {
			return t.sendForged(func(d *delivery) {
				d.alter = func(h http.Header) { h.Set(standardwebhooks.HeaderWebhookSignature, "v1,") }
			})
		},
	},
	{
		name: "webhook.respelled-signature", title: "A delivery whose signature has another case is refused",
		fix: "Compare signatures byte by byte, in constant time, never without regard to case or by a language's rules: " +
			"base64 tells capital and small letters apart.",
		act: func(t *trial) error {
			return t.sendForged(func(d *delivery) {
				d.alter = func(h http.Header) {
					_, mac, _ := strings.Cut(h.Get(standardwebhooks.HeaderWebhookSignature), ",")
					h.Set(standardwebhooks.HeaderWebhookSignature, "v1,"+otherCase(mac))
				}
			})
		},
	},
	{
		name: "webhook.empty-key", title: "A delivery signed under the empty key is refused", fix: emptyKeyFix,
		act: func(t *trial) error {
			return t.sendForged(func(d *delivery) {
				d.alter = func(h http.Header) {
					mac := hmac.New(sha256.New, nil)
					fmt.Fprintf(mac, "%s.%s.%s", d.id, h.Get(standardwebhooks.HeaderWebhookTimestamp), d.body)
					h.Set(standardwebhooks.HeaderWebhookSignature, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
				}
			})
		},
	},
	{
		name: "webhook.respelled", title: "A delivery whose JSON was written again under the old signature is refused",
		fix: "Verify the bytes that arrived. Parsing the body and writing it again for the check verifies something that " +
			"nobody signed.",
		act: func(t *trial) error {
			return t.sendForged(func(d *delivery) {
				d.signed = d.body
				d.body = bytes.ReplaceAll(d.body, []byte(`,"`), []byte(`, "`))
			})
		},
	},
	{
		name: "webhook.unknown-session", releases: true,
		title: "A delivery about a session that is not the shop's is not answered with 410, and one about its own releases",
		fix: "Answer with 2xx and ignore it: another program of yours may have created the session. 410 disables the " +
			"webhook, for every order.",
		act: func(t *trial) error {
			d, err := t.good()
			if err != nil {
				return err
			}
			other := *d
			other.id = "evt_" + newID().String()
			other.body = bytes.Replace(d.body, []byte(d.to.session.ID.String()), []byte(newID().String()), 1)
			header, err := other.header()
			if err != nil {
				return err
			}
			a := t.post(&other, header)
			if t.answered(a, "", either); a.StatusCode == http.StatusGone {
				t.fail(Problem{Code: ProblemNotAccepted, Value: strconv.Itoa(a.StatusCode)})
			}
			return t.send(d, accept)
		},
	},
	{
		name: "webhook.livemode", title: "A signed delivery that says livemode releases nothing in a test shop",
		fix: "Let livemode decide: a shop that uses test keys handles livemode false only, and one that uses live keys " +
			"handles livemode true only.",
		act: func(t *trial) error {
			d, err := t.delivery(webhook.ResultVerified, true)
			if err != nil {
				return err
			}
			return t.send(d, either)
		},
	},
	{
		name: "webhook.fallback", title: "A signed ROUTED_TO_FALLBACK is answered with 2xx and releases nothing",
		fix: "A valid signature says who sent the event, not what it says: require status VERIFIED and is_adult true " +
			"before you release.",
		act: func(t *trial) error {
			d, err := t.delivery(webhook.ResultRoutedToFallback, false)
			if err != nil {
				return err
			}
			return t.send(d, accept)
		},
	},
	{
		name: "webhook.not-adult", title: "A signed VERIFIED with is_adult false releases nothing",
		fix: "Require both status VERIFIED and is_adult true.",
		act: func(t *trial) error {
			d, err := t.good()
			if err != nil {
				return err
			}
			d.body = bytes.Replace(d.body, []byte(`"is_adult":true`), []byte(`"is_adult":false`), 1)
			return t.send(d, either)
		},
	},
	{
		name: "webhook.rotation", releases: true, orders: 2,
		title: "A delivery with two signatures, as during a rotation, is accepted, whichever of them is right",
		fix:   "webhook-signature holds one or more signatures separated by spaces: accept when any of them is right.",
		act: func(t *trial) error {
			if err := t.sendGood(func(d *delivery) {
				d.what, d.keys = "the last", append([][]byte{t.foreignKey}, d.keys...)
			}); err != nil {
				return err
			}
			return t.sendGood(func(d *delivery) {
				d.what, d.keys = "the first", append(slices.Clone(d.keys), t.foreignKey)
			})
		},
	},
	{
		name: "webhook.header-names", releases: true, orders: 2,
		title: "A delivery is accepted whether its headers' names are in small letters or begin with capitals",
		fix: "Look headers up without regard to case, as HTTP says: a proxy in front of the shop may change it, and HTTP/2 " +
			"always does.",
		act: func(t *trial) error {
			if err := t.sendGood(func(d *delivery) { d.what = "capitals" }); err != nil {
				return err
			}
			return t.sendGood(func(d *delivery) { d.what, d.alter = "small letters", inSmallLetters })
		},
	},
	{
		name: "webhook.unknown-scheme", releases: true,
		title: "A delivery with a signature of an unknown scheme and a valid one is accepted",
		fix:   "Ignore signatures that do not begin with \"v1,\" and look at the others.",
		act: func(t *trial) error {
			return t.sendGood(func(d *delivery) {
				d.alter = func(h http.Header) {
					h.Set(standardwebhooks.HeaderWebhookSignature, "v1a,bm90IG9mIHRoaXMgc2NoZW1l "+
						h.Get(standardwebhooks.HeaderWebhookSignature))
				}
			})
		},
	},
	{
		name: "webhook.spelling", releases: true,
		title: "A signed delivery is accepted however its JSON is spelled and its members are ordered",
		fix:   "Read the body with a JSON parser once it is verified. Do not expect an order of members, or no white space.",
		act: func(t *trial) error {
			return t.sendGood(func(d *delivery) {
				var members map[string]any
				if json.Unmarshal(d.body, &members) == nil { // parses, because this package made it
					members["timestamp"] = t.Now().UTC().Format(time.RFC3339) // whole seconds have no fraction
					d.body, _ = json.MarshalIndent(members, "", "\t")         // sorted by name
				}
			})
		},
	},
	{
		name: "webhook.unknown-members", releases: true,
		title: "A signed delivery with members that are not documented yet is accepted",
		fix:   "Ignore members that you do not know: new ones may be added at any time.",
		act: func(t *trial) error {
			return t.sendGood(func(d *delivery) {
				added := fmt.Sprintf(`{"added_later":{"list":[1,null],"session_id":%q,"status":"ROUTED_TO_FALLBACK","text":%q},`,
					newID(), strings.Repeat("a", 2<<10))
				d.body = []byte(strings.Replace(string(d.body), "{", added, 1))
			})
		},
	},
	{
		name: "webhook.duplicate", releases: true,
		title: "A delivery that arrives twice is answered with 2xx both times, and releases once",
		fix:   "Remember webhook-id in the transaction that releases the order, and answer 2xx to one that you have seen.",
		act: func(t *trial) error {
			d, err := t.good()
			if err != nil {
				return err
			}
			for _, what := range []string{"1", "2"} {
				d.what = what
				if err := t.send(d, accept); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		name: "webhook.forged-first", releases: true,
		title: "A forged delivery does not keep the good one of the same webhook-id out",
		fix: "Verify first, and remember only the webhook-id of a delivery that verified. Otherwise a forgery that " +
			"comes first blocks the order of an adult who passed.",
		act: func(t *trial) error {
			d, err := t.good()
			if err != nil {
				return err
			}
			forged := *d
			forged.what, forged.keys = "forged", [][]byte{t.foreignKey}
			if err := t.send(&forged, refuse); err != nil {
				return err
			}
			return t.send(d, accept)
		},
	},
	{
		name: "webhook.at-once", releases: true,
		title: "Twenty deliveries of one event at once are all answered with 2xx, and release once",
		fix:   onceFix,
		act:   (*trial).sendAtOnce,
	},
	{
		name: "webhook.out-of-order", releases: true, orders: 2,
		title: "Events are accepted in any order, an older one after a newer one",
		fix:   "Do not compare an event's time with that of another: deliveries are repeated, and overtake each other.",
		act: func(t *trial) error {
			earlier, err := t.good()
			if err != nil {
				return err
			}
			later, err := t.good()
			if err != nil {
				return err
			}
			old, err := t.event(earlier.to, webhook.ResultVerified, false, t.Now().Add(-time.Hour))
			if err != nil {
				return err
			}
			later.what, earlier.what = "1", "2"
			earlier.body, earlier.at = old.Body, earlier.at.Add(-time.Minute)
			if err := t.send(later, accept); err != nil {
				return err
			}
			return t.send(earlier, accept)
		},
	},
}
