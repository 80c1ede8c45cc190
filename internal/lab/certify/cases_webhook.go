package certify

import (
	"bytes"
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
		act: func(t *trial) { t.send(t.good(), accept) },
	},
	{
		name: "webhook.flipped", orders: 2, title: "A delivery with one byte of its body or its signature changed is refused",
		fix: "Verify the signature over the raw bytes of the body before anything reads it; a library of Standard Webhooks " +
			"does: new Webhook(secret).verify(rawBody, headers).",
		act: altered(refuse, func(_ *trial, d *delivery) {
			d.what = "near the end of the signature"
			d.alter = changeSignature(func(good string) string { return flip(good, 3) })
		}, func(_ *trial, d *delivery) {
			// The signature is for another session's event; the body that is sent differs from
			// it in one digit.
			id := d.to.id.String()
			last := "0"
			if strings.HasSuffix(id, "0") {
				last = "1"
			}
			d.signed = bytes.Replace(d.body, []byte(id), []byte(id[:len(id)-1]+last), 1)
		}),
	},
	{
		name: "webhook.foreign-secret", title: "A delivery signed with another secret is refused",
		fix: "Compare the signature with the HMAC-SHA256 that you compute under your own secret, in constant time. That " +
			"the header is there proves nothing.",
		act: altered(refuse, func(t *trial, d *delivery) { d.keys = [][]byte{t.foreignKey} }),
	},
	{
		name: "webhook.stale", title: "A delivery signed six minutes ago is refused",
		fix: "Refuse a webhook-timestamp more than five minutes behind your clock, so that a recorded delivery cannot be " +
			"sent again.",
		act: altered(refuse, func(_ *trial, d *delivery) { d.at = d.at.Add(-tooFar) }),
	},
	{
		name: "webhook.early", title: "A delivery dated six minutes ahead is refused",
		fix: "Refuse a webhook-timestamp more than five minutes ahead of your clock, too.",
		act: altered(refuse, func(_ *trial, d *delivery) { d.at = d.at.Add(tooFar) }),
	},
	{
		name: "webhook.missing-header", title: "A delivery without one of its three headers is refused",
		fix: "Require webhook-id, webhook-timestamp and webhook-signature; let none of them default to an empty text or to " +
			"the present time.",
		act: func(t *trial) {
			d := t.good()
			for _, name := range []string{headerID, headerTimestamp, headerSignature} {
				d.what, d.alter = "without "+name, func(h http.Header) { h.Del(name) }
				t.send(d, refuse)
			}
		},
	},
	{
		name: "webhook.get", title: "An event in the query of a GET request to the Webhook URL releases nothing",
		fix: "Take deliveries by POST alone, and verify every one.",
		act: func(t *trial) {
			o := t.order()
			event := url.Values{"type": {"session.completed"}, "session_id": {o.id.String()}, "status": {"VERIFIED"},
				"is_adult": {"true"}, "livemode": {"false"}}
			t.visit(o, "", t.target.WebhookURL+"?"+event.Encode())
		},
	},
	{
		name: "webhook.swapped-id", title: "A delivery under the webhook-id of another is refused",
		fix: "Include webhook-id in what you verify: the signature is over \"id.timestamp.body\". Otherwise an old " +
			"delivery passes as a new one.",
		act: altered(refuse, func(_ *trial, d *delivery) {
			d.alter = func(h http.Header) { h.Set(headerID, newEventID()) }
		}),
	},
	{
		name: "webhook.empty-signature", title: "A delivery with an empty signature is refused",
		fix: "Compare whole signatures: an empty one, or the beginning of one, must not match.",
		act: alteredSignature(refuse, func(string) string { return "v1," }),
	},
	{
		name: "webhook.respelled-signature", title: "A delivery whose signature has another case is refused",
		fix: "Compare signatures byte by byte, in constant time, never without regard to case or by a language's rules: " +
			"base64 tells capital and small letters apart.",
		act: alteredSignature(refuse, func(good string) string {
			return "v1," + otherCase(strings.TrimPrefix(good, "v1,"))
		}),
	},
	{
		name: "webhook.empty-key", title: "A delivery signed under the empty key is refused", fix: emptyKeyFix,
		act: altered(refuse, func(_ *trial, d *delivery) {
			signer := must(standardwebhooks.NewWebhookRaw(nil))
			d.alter = changeSignature(func(string) string { return must(signer.Sign(d.id, d.at, d.body)) })
		}),
	},
	{
		name: "webhook.respelled", title: "A delivery whose JSON was written again under the old signature is refused",
		fix: "Verify the bytes that arrived. Parsing the body and writing it again for the check verifies something that " +
			"nobody signed.",
		act: altered(refuse, func(_ *trial, d *delivery) {
			d.signed = d.body
			d.body = bytes.ReplaceAll(d.body, []byte(`,"`), []byte(`, "`))
		}),
	},
	{
		name: "webhook.unknown-session", releases: true,
		title: "A delivery about a session that is not the shop's is not answered with 410, and one about its own releases",
		fix: "Answer with 2xx and ignore it: another program of yours may have created the session. 410 disables the " +
			"webhook, for every order.",
		act: func(t *trial) {
			d := t.good()
			other := *d
			other.id = newEventID()
			other.body = bytes.Replace(d.body, []byte(d.to.id.String()), []byte(newID().String()), 1)
			a := t.post(&other)
			if t.answered(a, "", either); a.StatusCode == http.StatusGone {
				t.fail(Problem{Code: ProblemNotAccepted, Value: strconv.Itoa(a.StatusCode)})
			}
			t.send(d, accept)
		},
	},
	{
		name: "webhook.livemode", title: "A signed delivery that says livemode releases nothing in a test shop",
		fix: "Let livemode decide: a shop that uses test keys handles livemode false only, and one that uses live keys " +
			"handles livemode true only.",
		act: func(t *trial) {
			t.send(t.event(t.order(), webhook.ResultVerified, true, t.Now()), either)
		},
	},
	{
		name: "webhook.fallback", title: "A signed ROUTED_TO_FALLBACK is answered with 2xx and releases nothing",
		fix: "A valid signature says who sent the event, not what it says: require status VERIFIED and is_adult true " +
			"before you release.",
		act: func(t *trial) { t.send(t.delivery(t.order(), webhook.ResultRoutedToFallback), accept) },
	},
	{
		name: "webhook.not-adult", title: "A signed VERIFIED with is_adult false releases nothing",
		fix: "Require both status VERIFIED and is_adult true.",
		act: altered(either, func(_ *trial, d *delivery) {
			d.body = bytes.Replace(d.body, []byte(`"is_adult":true`), []byte(`"is_adult":false`), 1)
		}),
	},
	{
		name: "webhook.rotation", releases: true, orders: 2,
		title: "A delivery with two signatures, as during a rotation, is accepted, whichever of them is right",
		fix:   "webhook-signature holds one or more signatures separated by spaces: accept when any of them is right.",
		act: altered(accept, func(t *trial, d *delivery) {
			d.what, d.keys = "the last", append([][]byte{t.foreignKey}, d.keys...)
		}, func(t *trial, d *delivery) {
			d.what, d.keys = "the first", append(slices.Clone(d.keys), t.foreignKey)
		}),
	},
	{
		name: "webhook.header-names", releases: true, orders: 2,
		title: "A delivery is accepted whether its headers' names are in small letters or begin with capitals",
		fix: "Look headers up without regard to case, as HTTP says: a proxy in front of the shop may change it, and HTTP/2 " +
			"always does.",
		act: altered(accept, func(_ *trial, d *delivery) { d.what = "capitals" },
			func(_ *trial, d *delivery) { d.what, d.alter = "small letters", inSmallLetters }),
	},
	{
		name: "webhook.unknown-scheme", releases: true,
		title: "A delivery with a signature of an unknown scheme and a valid one is accepted",
		fix:   "Ignore signatures that do not begin with \"v1,\" and look at the others.",
		act:   alteredSignature(accept, func(good string) string { return "v1a,bm90IG9mIHRoaXMgc2NoZW1l " + good }),
	},
	{
		name: "webhook.spelling", releases: true,
		title: "A signed delivery is accepted however its JSON is spelled and its members are ordered",
		fix:   "Read the body with a JSON parser once it is verified. Do not expect an order of members, or no white space.",
		act: altered(accept, func(t *trial, d *delivery) {
			var members map[string]any
			check(json.Unmarshal(d.body, &members))
			members["timestamp"] = t.Now().UTC().Format(time.RFC3339) // whole seconds have no fraction
			d.body = must(json.MarshalIndent(members, "", "\t"))      // sorted by name
		}),
	},
	{
		name: "webhook.unknown-members", releases: true,
		title: "A signed delivery with members that are not documented yet is accepted",
		fix:   "Ignore members that you do not know: new ones may be added at any time.",
		act: altered(accept, func(_ *trial, d *delivery) {
			added := fmt.Sprintf(`{"added_later":{"list":[1,null],"session_id":%q,"status":"ROUTED_TO_FALLBACK","text":%q},`,
				newID(), strings.Repeat("a", 2<<10))
			d.body = []byte(strings.Replace(string(d.body), "{", added, 1))
		}),
	},
	{
		name: "webhook.duplicate", releases: true,
		title: "A delivery that arrives twice is answered with 2xx both times, and releases once",
		fix:   "Remember webhook-id in the transaction that releases the order, and answer 2xx to one that you have seen.",
		act: func(t *trial) {
			d := t.good()
			for _, what := range []string{"1", "2"} {
				d.what = what
				t.send(d, accept)
			}
		},
	},
	{
		name: "webhook.forged-first", releases: true,
		title: "A forged delivery does not keep the good one of the same webhook-id out",
		fix: "Verify first, and remember only the webhook-id of a delivery that verified. Otherwise a forgery that " +
			"comes first blocks the order of an adult who passed.",
		act: func(t *trial) {
			d := t.good()
			forged := *d
			forged.what, forged.keys = "forged", [][]byte{t.foreignKey}
			t.send(&forged, refuse)
			t.send(d, accept)
		},
	},
	{
		name: "webhook.at-once", releases: true,
		title: "Twenty deliveries of one event at once are all answered with 2xx, and release once",
		fix:   onceFix,
		act: func(t *trial) {
			d := t.good()
			answers := make([]webhook.Answer, atOnce)
			sideBySide(atOnce, func(i int) { answers[i] = t.post(d) })
			seen := map[int]bool{}
			for _, a := range answers {
				if !seen[a.StatusCode] { // report the same status only once
					t.answered(a, "", accept)
				}
				seen[a.StatusCode] = true
			}
		},
	},
	{
		name: "webhook.out-of-order", releases: true, orders: 2,
		title: "Events are accepted in any order, an older one after a newer one",
		fix:   "Do not compare an event's time with that of another: deliveries are repeated, and overtake each other.",
		act: func(t *trial) {
			earlier, later := t.good(), t.good()
			later.what, earlier.what = "1", "2"
			earlier.body = t.event(earlier.to, webhook.ResultVerified, false, t.Now().Add(-time.Hour)).body
			earlier.at = earlier.at.Add(-time.Minute)
			t.send(later, accept)
			t.send(earlier, accept)
		},
	},
}
