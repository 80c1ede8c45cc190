package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"agegate/internal/gatewaytest"
	"agegate/internal/rules/credential"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// TestListen: a receiver on this machine gets the signed events of a tenant's
// test sessions without a registered Webhook URL, and one event can be passed on
// again.
func TestListen(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop, other := g.Shop(t, "", nil), g.Shop(t, "", nil)
	receiver := gatewaytest.NewReceiver(t)
	command := func(ctx context.Context, out io.Writer, key string, more ...string) error {
		env := func(name string) (string, bool) { return key, name == "AGEGATE_API_KEY" }
		return run(ctx, append([]string{"listen", "--gateway", g.URL, "--forward", receiver.URL}, more...), env, out,
			io.Discard)
	}
	end := func(t *testing.T, key string) {
		g.Force(t, gatewaytest.Browser(), g.Create(t, key, 18), "verified")
	}
	end(t, shop.Test.APIKey) // ended before listening began, so not passed on
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- command(ctx, write, shop.Test.APIKey, "--json") }()
	lines := bufio.NewScanner(read)
	next := func() (p passed) {
		t.Helper()
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &p) != nil {
			t.Fatalf("printed %q", lines.Text())
		}
		return p
	}
	time.Sleep(time.Second) // it listens by now
	end(t, other.Test.APIKey)
	end(t, shop.Test.APIKey)
	first := next()
	if first.Answer != 204 || first.Status != "VERIFIED" {
		t.Errorf("printed %+v", first)
	}
	got := receiver.Wait(t, 1)
	key, err := credential.ParseSecret(shop.Test.WebhookSecret)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := standardwebhooks.NewWebhookRaw(key)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || verifier.Verify(got[0].Body, got[0].Header) != nil ||
		got[0].Header.Get("Content-Type") != "application/json" {
		t.Errorf("received %d deliveries, the first with %v", len(got), got[0].Header)
	}
	receiver.Answer(http.StatusInternalServerError)
	end(t, shop.Test.APIKey)
	if p := next(); p.Answer != 500 {
		t.Errorf("printed %+v", p)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("it ends with %v", err)
	}

	receiver.Answer(http.StatusNoContent)
	var out strings.Builder
	if err := command(t.Context(), &out, shop.Test.APIKey, "--replay", first.EventID); err != nil ||
		!strings.Contains(out.String(), "204 No Content") {
		t.Errorf("replay: %v, %s", err, out.String())
	}
	if all := receiver.Wait(t, 3); len(all) != 3 || all[2].Header.Get("webhook-id") != first.EventID ||
		string(all[2].Body) != string(got[0].Body) {
		t.Errorf("replayed is another event")
	}
	for name, tt := range map[string]struct{ key, replay, want string }{
		"a live key":            {shop.Live.APIKey, "", "AGEGATE_API_KEY is a live key"},
		"no key":                {"", "", "must be a test key"},
		"an unknown key":        {"svc_test_0123456789ABCDEFGHIJKLMNOPQRSTUV2nuRgb", "", "Invalid API key"},
		"another tenant's":      {other.Test.APIKey, first.EventID, "no such event"},
		"something of no event": {shop.Test.APIKey, "cAnArY", "no such event"},
	} {
		args := []string{}
		if tt.replay != "" {
			args = []string{"--replay", tt.replay}
		}
		err := command(t.Context(), io.Discard, tt.key, args...)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "cAnArY") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
