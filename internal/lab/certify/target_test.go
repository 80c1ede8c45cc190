package certify_test

import (
	"strings"
	"testing"

	"agegate/internal/lab/certify"
)

const goodTarget = `webhook_url: https://shop.example/webhook
releases_on: [webhook]
order: {url: "https://shop.example/buy"}
probe: {url: "https://shop.example/released/{session}"}
`

func TestReadTarget(t *testing.T) {
	with := func(old, changed string) string { return strings.Replace(goodTarget, old, changed, 1) }
	for _, tt := range []struct{ text, want string }{
		{goodTarget, ""},
		{goodTarget + "settle: 5s\nheaders: {Authorization: Basic eDp5}\n", ""},
		{"", "it is empty"},
		{"webhook_url: [", "line 1 is not as documented"},
		{"tenant: cAnArY", "line 1: there is no field tenant"},
		{"webhook_url: [a]", "line 1 is not as documented"},
		{goodTarget + "secret: cAnArY\n", "line 5: there is no field secret"},
		{goodTarget + "---\na: 1\n", "it must be one YAML document"},
		{with("[webhook]", "[]"), "releases_on must name at least one of redirect, webhook and polling"},
		{with("[webhook]", "[cAnArY]"), "releases_on must be of redirect, webhook and polling"},
		{goodTarget + "settle: 2m\n", "settle must be from 0s to 1m0s"},
		{goodTarget + "replay: 2m\n", "replay must be from 0s to 1m0s"},
		{goodTarget + "age: 12\n", "age must be from 13 to 99"},
		{goodTarget + "settle: cAnArY\n", "line 5 is not as documented"},
		{goodTarget + "headers: {Host: cAnArY}\n",
			"headers must be names and values of HTTP headers, other than Host and Cookie"},
		{goodTarget + "headers: {X: \"cAnArY\\r\\nY: 1\"}\n",
			"headers must be names and values of HTTP headers, other than Host and Cookie"},
		{with(`{url: "https://shop.example/buy"}`, "{}"), "order.url must be given"},
		{with("/buy", "/{session}"), "order.url must not have {session}: the order has none yet"},
		{with("{session}", ""), "probe.url must have {session}"},
		{goodTarget + "poll: {url: \"https://shop.example\", method: PUT}\n", "poll.method must be GET or POST"},
		{goodTarget + "poll: {url: \"https://shop.example\", method: GET, form: {a: b}}\n",
			"poll.form and json need the method POST"},
		{goodTarget + "poll: {url: \"https://shop.example\", form: {a: b}, json: {a: b}}\n",
			"poll.form and json cannot both be given"},
		{goodTarget + "poll: {url: \"https://shop.example\", json: {a: [1, {b: null}]}}\n", ""},
		{with("webhook_url: https://shop.example/webhook", "success_url: https://shop.example/"), ""},
		{"#" + strings.Repeat("x", 64<<10), "it is larger than 64 KiB"},
	} {
		got := ""
		if _, err := certify.ReadTarget(strings.NewReader(tt.text)); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%.80q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

// FuzzReadTarget: no error repeats any part of the file.
func FuzzReadTarget(f *testing.F) {
	f.Add(goodTarget)
	f.Add("tenant: cAnArY")
	f.Fuzz(func(t *testing.T, text string) {
		target, err := certify.ReadTarget(strings.NewReader(text))
		if err == nil {
			for _, r := range target.Requests() {
				_ = r.Place()
			}
		} else if strings.Contains(err.Error(), "cAnArY") && !strings.Contains(err.Error(), "there is no field") {
			t.Errorf("the error repeats the file: %v", err)
		}
	})
}
