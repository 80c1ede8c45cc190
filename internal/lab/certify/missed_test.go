package certify_test

import (
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"agegate/internal/lab/certify"
	"agegate/internal/rules/tenant"
)

// Mistakes beside those that are named after their case.
const (
	lastSignature   = "looks at the last signature alone"
	wantsFraction   = "wants a fraction of a second"
	smallBody       = "reads a small body only"
	cancelledAsPass = "takes a result at the Cancel URL"
	thirdPending    = "has waited long enough"
	lastStatus      = "keeps the status of another lookup"
	onceAToken      = "remembers tokens, not sessions"
	anyStatus       = "compares is_adult alone"
	cookieLookup    = "looks up the session of a cookie"
	cutMAC          = "compares all but the last letters of the token"
	cutSignature    = "compares all but the last letters of the signature"
)

// allButTheLast compares texts of the same length, but not their last four letters.
func allButTheLast(want, given string) bool {
	n := len(want) - 4
	return len(want) == len(given) && want[:n] == given[:n]
}

// TestMissedMistakes: shops are found that somebody made who did not know the cases, and
// that no case found at first.
func TestMissedMistakes(t *testing.T) {
	g := start(t, "AGEGATE_WEBHOOK_ALLOW_NETS=192.0.2.0/24", "AGEGATE_TEST_DAILY_CAP=-1")
	server, handler := serve(t)
	c := register(t, g, server.URL)
	for _, tt := range []struct{ mistake, number, found string }{
		{lastSignature, "", "webhook.rotation"}, {wantsFraction, "", "webhook.spelling"},
		{smallBody, "", "webhook.unknown-members"}, {cutSignature, "", "webhook.flipped"}, {cutMAC, "", "redirect.junk"},
		{anyStatus, "", "redirect.fallback"}, {cancelledAsPass, "", "redirect.cancelled"},
		{thirdPending, "", "polling.pending"},
		{cookieLookup, "", "polling.other-session"}, {onceAToken, "", "redirect.replay"}, {lastStatus, "", "polling.fails"},
		{strictCookie, "", "redirect.browser"}, {shortCookie, "", "redirect.browser"}, {hostCookie, "", "redirect.browser"},
		{noCrossing, "", "redirect.browser"}, {prefetchUsesUp, "", "redirect.browser"},
		{pendingEnds, "", "redirect.between"}, {pendingEnds, "", "webhook.between"},
		{cancelForgets, "", "redirect.between"}, {cancelForgets, "", "webhook.between"},
		{cancelForgets, "", "polling.between"},
		{cancelCounts, "", "redirect.between"}, {strangerEnds, "", "webhook.between"}, {forgeryEnds, "", "polling.between"},
		{bareForgets, "", "webhook.between"}, {postReleases, "", "redirect.between"}, {postReleases, "", "redirect.posted"},
		{rawOrder, "json", "redirect.between"}, {formOrder, "json", "redirect.mixed"}, {lastOrder, "json", "redirect.mixed"},
		{flagCookie, "", "redirect.between"}, {rawCookie, "", "redirect.between"}, {failedForgets, "", "webhook.between"},
		{orderForgets, "", "polling.between"}, {lastReleased, "", "redirect.between"}, {fallbackEnds, "", "webhook.between"},
		{lookupRaces, "", "once.redirect-and-webhook-together"}, {jsonReleases, "", "redirect.posted"},
		{latestOfBrowser, "", "redirect.other-order"}, {oncePerBrowser, "", "redirect.next-order"},
		{"redirect.expired", "cancel", "redirect.expired"}, {"redirect.other-session", "cancel", "redirect.other-session"},
	} {
		shop := &carelessShop{gateway: g.URL, now: g.Clock.Now, number: tt.number, mistake: tt.mistake}
		switch tt.mistake {
		case cutMAC:
			shop.loose = map[string]func(want, given string) bool{"mac": allButTheLast}
		case cutSignature:
			shop.loose = map[string]func(want, given string) bool{"signature": allButTheLast}
		}
		shop.use(t, c.Test)
		*handler = shop
		target := targetOf(t, server.URL)
		target.SuccessURL, target.CancelURL = "", ""
		report, err := attack(t, g, c, target, tools(g), certify.Options{Cases: []string{tt.found}})
		if err != nil || report.Passed() {
			t.Errorf("a shop that %q is not found by %s: %v", tt.mistake, tt.found, err)
		}
	}
}

// TestAShopThatPollsByItself: a right shop that looks its orders up without being asked
// fails no case, and one that asks for three seconds only is found.
func TestAShopThatPollsByItself(t *testing.T) {
	t.Parallel()
	for name, asks := range map[string]time.Duration{"right": time.Hour, "gives up": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := start(t, "AGEGATE_WEBHOOK_ALLOW_NETS=192.0.2.0/24")
			server, handler := serve(t)
			c := register(t, g, server.URL)
			shop := &carelessShop{gateway: g.URL, now: g.Clock.Now, secrets: tenant.ModeSecrets{}}
			shop.use(t, c.Test)
			*handler = shop
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			go shop.pollByItself(ctx, asks)
			target := targetOf(t, server.URL)
			target.Poll, target.ReleasesOn = nil, []certify.Way{certify.WayPolling}
			cases := []string{"polling.at-once", "polling.passed", "polling.later"}
			report, err := attack(t, g, c, target, tools(g), certify.Options{Cases: cases})
			if err != nil || report.Passed() != (name == "right") {
				t.Errorf("%v\n%s", err, show(t, report))
			}
		})
	}
}

// TestItBlamesNoLookupThatItDidNotMake: the report on a shop that polls by itself names no lookup of
// the run as what released an order.
func TestItBlamesNoLookupThatItDidNotMake(t *testing.T) {
	t.Parallel()
	g := start(t, "AGEGATE_WEBHOOK_ALLOW_NETS=192.0.2.0/24")
	server, handler := serve(t)
	c := register(t, g, server.URL)
	shop := &carelessShop{gateway: g.URL, now: g.Clock.Now}
	shop.use(t, c.Test)
	*handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/released") {
			_, _ = io.WriteString(w, `{"released": 1}`)
			return
		}
		shop.ServeHTTP(w, r)
	})
	target := targetOf(t, server.URL)
	target.Poll = nil
	report, err := attack(t, g, c, target, tools(g), certify.Options{Cases: []string{"polling.cut-session"}})
	if err != nil {
		t.Fatal(err)
	}
	if p := report.Results[0].Problems; len(p) != 1 || p[0].Code != certify.ProblemReleased || p[0].What != "" {
		t.Errorf("the problems are %+v", p)
	}
}

// pollByItself looks each order up until it is released, for so long.
func (s *carelessShop) pollByItself(ctx context.Context, asks time.Duration) {
	began := map[string]time.Time{}
	for ; ctx.Err() == nil; time.Sleep(200 * time.Millisecond) {
		s.mu.Lock()
		ids := slices.Collect(maps.Keys(s.orders))
		s.mu.Unlock()
		for _, id := range ids {
			if _, ok := began[id]; !ok {
				began[id] = time.Now()
			}
			if time.Since(began[id]) < asks &&
				s.call(http.MethodGet, "/api/v1/sessions/"+id+"/status", "")["status"] == "PASSED" {
				s.release(id, "polling", true)
			}
		}
	}
}
