package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"agegate/gen/client"
	"agegate/internal/gatewaytest"
	"agegate/internal/lab/verify"

	"github.com/google/uuid"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// TestListen: a receiver on this machine gets the signed events of a tenant's
// test sessions without a registered Webhook URL, and one event can be passed on
// again.
func TestListen(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop, other := g.Shop(t, "", nil), g.Shop(t, "", nil)
	receiver := gatewaytest.NewReceiver(t)
	var notes gatewaytest.Log
	command := func(ctx context.Context, out io.Writer, key string, more ...string) error {
		// White space around a value does not count.
		env := func(name string) (string, bool) { return "\ufeff " + key + "\r\n", name == "AGEGATE_API_KEY" }
		return run(ctx, append([]string{"listen", "--gateway", g.URL, "--forward", receiver.URL}, more...), env, out,
			&notes)
	}
	end := func(t *testing.T, key string) {
		g.Force(t, gatewaytest.Browser(), g.Create(t, key, 18), "verified")
	}
	g.Clock.Advance(-time.Hour)
	end(t, shop.Test.APIKey) // before --since, so not passed on
	g.Clock.Advance(time.Hour)
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
	gatewaytest.WaitFor(t, "it listens", func() bool { return strings.Contains(notes.String(), "Waiting for events") })
	end(t, other.Test.APIKey)
	end(t, shop.Test.APIKey)
	first := next()
	if first.Answer != 204 || first.Status != "VERIFIED" {
		t.Errorf("printed %+v", first)
	}
	got := receiver.Wait(t, 1)
	key, err := verify.Secret(shop.Test.WebhookSecret)
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

// TestListenEndsAndGoesOn: at Ctrl-C it finishes the event in hand, says which are
// left, and goes on with these. The receiver is reached without a proxy.
func TestListenEndsAndGoesOn(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	key := g.Shop(t, "", nil).Test.APIKey
	for range 2 {
		g.Force(t, gatewaytest.Browser(), g.Create(t, key, 18), "verified")
	}
	ctx, interrupt := context.WithCancel(t.Context())
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		interrupt()
		time.Sleep(100 * time.Millisecond) // it is interrupted by now
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(receiver.Close)
	listen := func(since string) (printed []string, notes string) {
		t.Helper()
		var out, more strings.Builder
		l := &listener{out: &out, notes: &more, share: 1, shares: 1}
		if err := l.open(g.URL, receiver.URL, key, false); err != nil {
			t.Fatal(err)
		}
		if sent, ok := l.receiver.Transport.(*http.Transport); !ok || sent.Proxy != nil {
			t.Error("a proxy stands before the receiver")
		}
		if err := l.listen(ctx, since); err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(out.String()), "\n"), more.String()
	}
	printed, notes := listen("1m")
	first, _, _ := strings.Cut(printed[0], " ")
	_, left, _ := strings.Cut(notes, "\n")
	left, _, missed := strings.Cut(left, " was not passed on\n")
	if len(printed) != 1 || !strings.Contains(printed[0], "204 No Content") || !missed ||
		!strings.HasSuffix(notes, "--since "+first+"\n") {
		t.Errorf("interrupted: %q, %q", printed, notes)
	}
	ctx, interrupt = context.WithCancel(t.Context())
	defer interrupt()
	if printed, notes = listen(first); len(printed) != 1 || !strings.HasPrefix(printed[0], left+" ") {
		t.Errorf("gone on: %q, %q", printed, notes)
	}
	l := &listener{notes: io.Discard}
	for _, since := range []string{"cAnArY", "-1m", ""} {
		if err := l.listen(t.Context(), since); err == nil || strings.Contains(err.Error(), "cAnArY") {
			t.Errorf("--since %q: %v", since, err)
		}
	}
}

// TestListenersShare: each event is of one share, and those of one session are of
// the same.
func TestListenersShare(t *testing.T) {
	l := &listener{}
	for _, share := range []string{"", "1", "0/2", "3/2", "a/b", "1/0", "1/2/3"} {
		if l.take(share) == nil {
			t.Errorf("%q is taken", share)
		}
	}
	count := map[int]int{}
	for range 300 {
		e := client.TestEvent{SessionID: uuid.New()}
		for share := range 3 {
			if err := l.take(fmt.Sprintf("%d/3", share+1)); err != nil {
				t.Fatal(err)
			}
			if l.mine(e) {
				count[share]++
			}
		}
	}
	if count[0]+count[1]+count[2] != 300 || min(count[0], count[1], count[2]) < 50 {
		t.Errorf("the shares have %v events", count)
	}
}
