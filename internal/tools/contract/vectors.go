package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"agegate/internal/rules/credential"
	"agegate/internal/rules/webhook"
)

// vectorFile holds known answers, made by the gateway's own code, that the tests
// of every SDK read.
const vectorFile = "sdk/vectors.json"

// What a vector expects: the pass or the event, nothing, or an error that names
// the secret.
const (
	accepted = "accepted"
	refused  = "refused"
	noSecret = "secret"
)

type redirectVector struct {
	Name    string   `json:"name"`
	Now     int64    `json:"now"`
	Query   string   `json:"query"`
	Session string   `json:"session"`
	Secrets []string `json:"secrets"`
	Want    string   `json:"want"`
}

type webhookVector struct {
	Name    string            `json:"name"`
	Now     int64             `json:"now"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Secret  string            `json:"secret"`
	Want    string            `json:"want"`
}

// The contract's known answers.
const (
	knownSession = "3f2b8c1e-9d4a-4f6b-8a57-0c1d2e3f4a5b"
	knownEvent   = "evt_0190c0de-0000-7000-8000-000000000001"
	knownTime    = 1767225600
	knownBody    = `{"type":"session.completed","timestamp":"2026-01-01T00:00:00Z","session_id":"` + knownSession +
		`","status":"VERIFIED","is_adult":true,"livemode":false,"target_age":18}`
	redirectPrefix = "rdsec_test_"
	webhookPrefix  = "whsec_"
	keyLength      = 32
)

// vectors returns the known answers as JSON.
func vectors() ([]byte, error) {
	hooks, err := webhookVectors()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err = enc.Encode(map[string]any{"redirects": redirectVectors(), "webhooks": hooks})
	return out.Bytes(), err
}

// countingKey is the bytes 0 to n-1.
func countingKey(n int) []byte {
	key := make([]byte, n)
	for i := range key {
		key[i] = byte(i)
	}
	return key
}

func secret(prefix string, key []byte) string { return prefix + base64.StdEncoding.EncodeToString(key) }

// badSecrets are what a shop may have instead of a secret, by what is wrong with them.
func badSecrets(prefix string) [][2]string {
	good := secret(prefix, countingKey(keyLength))
	return [][2]string{
		{"no secret", ""}, {"the prefix alone", prefix}, {"undefined", "undefined"}, {"another prefix", "sk_" + good},
		{"a line after it", good + "\n"}, {"a space before it", " " + good},
		{"16 bytes", secret(prefix, countingKey(16))}, {"31 bytes", secret(prefix, countingKey(31))},
		{"33 bytes", secret(prefix, countingKey(33))}, {"64 bytes", secret(prefix, countingKey(64))},
		{"what is not base64", prefix + strings.Repeat("!", 43) + "="},
	}
}

// successQueries are queries of Success URLs that languages read differently. The
// gateway keeps them byte for byte.
var successQueries = map[string]string{
	"a percent sign": "coupon=50%&order=1042", "a percent sign alone": "%", "half an escape": "a=%2&b=%",
	"an escape of no digits": "a=%zz", "an escape that is not UTF-8": "a=%ff", "an escaped NUL": "a=%00",
	"a semicolon": "ref=a;b&order=1042", "a name of ours after a semicolon": "ref=a;token=x;status=PASSED",
	"a semicolon alone": ";", "an empty value": "e=", "an escaped name of ours": "%74oken=x", "a plus": "a+b=c",
	"nothing": "", "the same name twice": "order=1&order=2", "equals signs": "=x&a=b=c", "empty pairs": "&&a&&",
	"2,048 characters": strings.Repeat("0123456", 292) + "a=bc",
}

func redirectVectors() []redirectVector {
	key, other := countingKey(keyLength), bytes.Repeat([]byte("k"), keyLength)
	secrets := []string{secret(redirectPrefix, key)}
	pass := credential.Redirect{Session: knownSession, Status: "VERIFIED", IsAdult: true}
	query := func(r credential.Redirect, key []byte) url.Values {
		isAdult := "false"
		if r.IsAdult {
			isAdult = "true"
		}
		return url.Values{"session": {r.Session}, "status": {r.Status}, "is_adult": {isAdult},
			"token": {r.Token(key, time.Unix(knownTime, 0))}}
	}
	good := query(pass, key).Encode()
	token := query(pass, key).Get("token")
	all := []redirectVector{
		{"the contract's known answer", knownTime - 600, good, knownSession, secrets, accepted},
		{"in its last second", knownTime, good, knownSession, secrets, accepted},
		{"other parameters as well", knownTime, "order=1&" + good + "&order=2", knownSession, secrets, accepted},
		{"under the second secret", knownTime, good, knownSession, []string{secret("rdsec_live_", other), secrets[0]},
			accepted},
		{"under the first secret", knownTime, good, knownSession, []string{secrets[0], secret("rdsec_live_", other)},
			accepted},
		{"a second late", knownTime + 1, good, knownSession, secrets, refused},
		{"of another session", knownTime, good, strings.Replace(knownSession, "3f", "4f", 1), secrets, refused},
		{"under another secret", knownTime, good, knownSession, []string{secret(redirectPrefix, other)}, refused},
		{"a bare visit", knownTime, "", knownSession, secrets, refused},
		{"no list of secrets", knownTime, good, knownSession, []string{}, noSecret},
		{"a good and an empty secret", knownTime, good, knownSession, []string{secrets[0], ""}, noSecret},
	}
	for name, r := range map[string]credential.Redirect{
		"signed as a fallback":    {Session: knownSession, Status: "ROUTED_TO_FALLBACK", IsAdult: true},
		"signed as not of age":    {Session: knownSession, Status: "VERIFIED"},
		"signed for no session":   {Status: "VERIFIED", IsAdult: true},
		"signed in lower case":    {Session: knownSession, Status: "verified", IsAdult: true},
		"signed with upper cases": {Session: strings.ToUpper(knownSession), Status: "VERIFIED", IsAdult: true},
	} {
		all = append(all, redirectVector{name, knownTime, query(r, key).Encode(), knownSession, secrets, refused})
	}
	for name, changed := range map[string]string{
		"a later expiry": "9" + token, "no MAC": "1767225600.", "no expiry": token[10:], "padding": token + "=",
		"a third part":     token + ".x",
		"a character less": token[:len(token)-1], "another last character": token[:len(token)-1] + "h", "an empty token": "",
		"an expiry with a sign": "+" + token, "characters beyond ASCII": token + "é\U0001f600", "a line after it": token +
			"\n",
	} {
		q := query(pass, key)
		q.Set("token", changed)
		all = append(all, redirectVector{"the token has " + name, knownTime, q.Encode(), knownSession, secrets, refused})
	}
	for name := range query(pass, key) {
		q := query(pass, key)
		q.Del(name)
		all = append(all, redirectVector{"no " + name, knownTime, q.Encode(), knownSession, secrets, refused},
			redirectVector{"two of " + name, knownTime, good + "&" + name + "=" + url.QueryEscape(query(pass, key).Get(name)),
				knownSession, secrets, refused})
	}
	for _, bad := range badSecrets(redirectPrefix) {
		// Signed under the empty key, as somebody would who knows that the secret is missing.
		all = append(all, redirectVector{"under " + bad[0], knownTime, query(pass, nil).Encode(), knownSession,
			[]string{bad[1]}, noSecret})
	}
	for name, success := range successQueries {
		to, err := credential.RedirectURL("https://shop.example/?"+success, pass, token)
		if err != nil {
			panic(err) // the queries are constants
		}
		_, received, _ := strings.Cut(to, "?")
		all = append(all, redirectVector{"beside " + name, knownTime, received, knownSession, secrets, accepted})
	}
	slices.SortStableFunc(all, func(a, b redirectVector) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func webhookVectors() ([]webhookVector, error) {
	key, other := countingKey(keyLength), bytes.Repeat([]byte("k"), keyLength)
	at := time.Unix(knownTime, 0)
	signed, err := webhook.Sign([][]byte{key}, knownEvent, at, []byte(knownBody))
	if err != nil {
		return nil, err
	}
	rotating, err := webhook.Sign([][]byte{other, key}, knownEvent, at, []byte(knownBody))
	if err != nil {
		return nil, err
	}
	headers := func(changes ...string) map[string]string {
		h := map[string]string{}
		for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
			h[name] = signed.Get(name)
		}
		for i := 0; i < len(changes); i += 2 {
			h[changes[i]] = changes[i+1]
		}
		return h
	}
	good, signature := secret(webhookPrefix, key), signed.Get("webhook-signature")
	all := []webhookVector{
		{"the contract's known answer", knownTime, headers(), knownBody, good, accepted},
		{"five minutes late", knownTime + 300, headers(), knownBody, good, accepted},
		{"five minutes early", knownTime - 300, headers(), knownBody, good, accepted},
		{"while a secret is rotated", knownTime, headers("webhook-signature", rotating.Get("webhook-signature")), knownBody,
			good, accepted},
		{"signatures of other kinds as well", knownTime, headers("webhook-signature", "v1a,AAAA v2,x "+signature), knownBody,
			good, accepted},
		{"over five minutes late", knownTime + 302, headers(), knownBody, good, refused},
		{"over five minutes early", knownTime - 302, headers(), knownBody, good, refused},
		{"under another secret", knownTime, headers(), knownBody, secret(webhookPrefix, other), refused},
		{"a body that was changed", knownTime, headers(), strings.Replace(knownBody, "false", "true", 1), good, refused},
		{"a body with a space after it", knownTime, headers(), knownBody + " ", good, refused},
		{"another ID", knownTime, headers("webhook-id", "evt_other"), knownBody, good, refused},
		{"another time", knownTime, headers("webhook-timestamp", "1767225601"), knownBody, good, refused},
		{"a time that is no number", knownTime, headers("webhook-timestamp", "now"), knownBody, good, refused},
		{"no time", knownTime, headers("webhook-timestamp", ""), knownBody, good, refused},
		{"no signature", knownTime, headers("webhook-signature", ""), knownBody, good, refused},
		{"no headers", knownTime, map[string]string{}, knownBody, good, refused},
		{"a signature without its version", knownTime, headers("webhook-signature", strings.TrimPrefix(signature, "v1,")),
			knownBody, good, refused},
		{"a signature of another version", knownTime, headers("webhook-signature", "v2"+strings.TrimPrefix(signature, "v1")),
			knownBody, good, refused},
		{"a signature beyond ASCII", knownTime, headers("webhook-signature", "v1,é"), knownBody, good, refused},
	}
	for _, not := range [][2]string{
		{"is_adult is a text", strings.Replace(knownBody, "true", `"false"`, 1)},
		{"livemode is a text", strings.Replace(knownBody, "false", `"false"`, 1)},
		{"it is a list", "[]"}, {"it is cut", knownBody[:20]},
	} {
		signed, err := webhook.Sign([][]byte{key}, knownEvent, at, []byte(not[1]))
		if err != nil {
			return nil, err
		}
		h := headers("webhook-signature", signed.Get("webhook-signature"))
		all = append(all, webhookVector{"signed, but " + not[0], knownTime, h, not[1], good, refused})
	}
	for _, bad := range badSecrets(webhookPrefix) {
		all = append(all, webhookVector{"under " + bad[0], knownTime, headers(), knownBody, bad[1], noSecret})
	}
	return all, nil
}
