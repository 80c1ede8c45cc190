package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agegate/gen/client"
	"agegate/internal/gatewaytest"
	"agegate/internal/lab/verify"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// jsonShop takes orders as JSON and releases them on a redirect or a lookup.
type jsonShop struct {
	gateway  *client.ClientWithResponses
	redirect []byte
	now      func() time.Time
	careless bool // releases on whatever redirect it gets

	mu       sync.Mutex
	released map[string]int
}

func (s *jsonShop) release(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.released[session] = 1
}

func (s *jsonShop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/api/orders":
		var order struct{ Age int }
		if r.Header.Get("Content-Type") != "application/json" || json.NewDecoder(r.Body).Decode(&order) != nil {
			http.Error(w, "JSON is needed", http.StatusUnsupportedMediaType)
			return
		}
		made, err := s.gateway.CreateSessionWithResponse(r.Context(), nil, client.CreateSessionRequest{TargetAge: order.Age})
		if err != nil || made.JSON201 == nil {
			http.Error(w, "no session", http.StatusBadGateway)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "order", Value: made.JSON201.SessionID.String(), Path: "/"})
		_ = json.NewEncoder(w).Encode(made.JSON201)
	case "/thanks":
		cookie, err := r.Cookie("order")
		q := r.URL.Query()
		if err == nil && (s.careless && q.Get("status") == "VERIFIED" || s.verified(r, cookie.Value)) {
			s.release(cookie.Value)
		}
	case "/lookup":
		id, err := uuid.Parse(r.URL.Query().Get("session"))
		cookie, noCookie := r.Cookie("order")
		if err != nil || noCookie != nil || cookie.Value != id.String() {
			return
		}
		status, err := s.gateway.GetSessionStatusWithResponse(r.Context(), id)
		if err == nil && status.JSON200 != nil && status.JSON200.Status == client.SessionStatusPassed {
			s.release(id.String())
		}
	case "/released":
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = json.NewEncoder(w).Encode(map[string]int{"released": s.released[r.URL.Query().Get("session")]})
	}
}

func (s *jsonShop) verified(r *http.Request, session string) bool {
	q := r.URL.Query()
	for _, name := range []string{"token", "session", "status", "is_adult"} {
		if len(q[name]) != 1 {
			return false
		}
	}
	values := credential.Redirect{Session: session, Status: "VERIFIED", IsAdult: true}
	return q.Get("session") == session && q.Get("status") == "VERIFIED" && q.Get("is_adult") == "true" &&
		verify.RedirectToken(s.redirect, q.Get("token"), values, s.now()) == nil
}

// TestCertifyByKey: a JSON shop on this machine is certified with a test key
// alone, twice without a wait, and the report on a careless one says what to mend.
func TestCertifyByKey(t *testing.T) {
	var pages http.Handler // the gateway, at the address of its verification URLs
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { pages.ServeHTTP(w, r) }))
	t.Cleanup(front.Close)
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_VERIFY_URL="+front.URL, "AGEGATE_TEST_DAILY_CAP=-1")
	at, err := url.Parse(g.URL)
	if err != nil {
		t.Fatal(err)
	}
	pages = httputil.NewSingleHostReverseProxy(at)
	shop := &jsonShop{released: map[string]int{}, now: g.Clock.Now}
	server := httptest.NewServer(shop)
	t.Cleanup(server.Close)
	c := g.Shop(t, "", func(owner *tenant.Tenant) {
		owner.SuccessURL, owner.CancelURL = server.URL+"/thanks?shop=1", server.URL
	})
	if shop.redirect, err = verify.Secret(c.Test.RedirectSecret); err != nil {
		t.Fatal(err)
	}
	if shop.gateway, err = client.NewClientWithResponses(g.URL,
		client.WithRequestEditorFn(func(_ context.Context, req *http.Request) error {
			req.Header.Set("X-API-Key", c.Test.APIKey)
			return nil
		})); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "shop.yaml")
	certify := func(key, ways, order string, secrets bool) (string, error) {
		text := strings.NewReplacer("SHOP", server.URL, "WAYS", ways, "ORDER", order).Replace(`
releases_on: [WAYS]
order: {url: SHOP/api/orders, ORDER}
poll: {url: "SHOP/lookup?session={session}"}
probe: {url: "SHOP/released?session={session}"}
settle: 0s
replay: 20ms
`)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		variables := map[string]string{"AGEGATE_API_KEY": key}
		if secrets {
			variables["REDIRECT_SECRET"] = " " + c.Test.RedirectSecret + "\n" // as a file leaves it
			variables["WEBHOOK_SECRET"] = "\t" + c.Test.WebhookSecret + "\r\n"
		}
		env := func(name string) (string, bool) {
			value, ok := variables[name]
			return value, ok
		}
		err := run(t.Context(), []string{"certify", "run", "--gateway", g.URL, "--target", file}, env, &out, &out)
		return out.String(), err
	}
	const asJSON = "json: {age: 18}"
	for _, tt := range []struct {
		name, key, ways, order string
		careless, secrets      bool
		want                   []string // in the report or the error
		passes                 bool
	}{
		{name: "redirect and polling", key: c.Test.APIKey, ways: "redirect, polling", order: asJSON, passes: true,
			want: []string{"redirect.good", "polling.other-session", "for want of --front: polling.fails",
				"for want of WEBHOOK_SECRET: webhook.*", "for want of REDIRECT_SECRET: "}},
		{name: "redirect alone, at once again", key: c.Test.APIKey, ways: "redirect", order: asJSON, passes: true,
			want: []string{"redirect.expired", "redirect.junk", "redirect.doubled"}},
		{name: "redirect and polling, with the secrets", key: c.Test.APIKey, ways: "redirect, polling", order: asJSON,
			secrets: true, passes: true,
			want: []string{"redirect.expired", "redirect.not-adult", "polling.passed", "webhook.*"}},
		{name: "a careless shop", key: c.Test.APIKey, ways: "redirect", order: asJSON, careless: true,
			want: []string{"LET IN", "redirect.empty-key", "redirect.expired", "Recompute the MAC under your own secret"}},
		{name: "a form for a JSON shop", key: c.Test.APIKey, ways: "redirect", order: "form: {age: \"18\"}",
			want: []string{"the shop took no order by POST: answer 415", "with method, form or json"}},
		{name: "a live key", key: c.Live.APIKey, ways: "redirect", order: asJSON, want: []string{"must be a test key"}},
		{name: "a key of nobody", key: "svc_test_0123456789ABCDEFGHIJKLMNOPQRSTUV2nuRgb", ways: "redirect", order: asJSON,
			want: []string{"Invalid API key"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			shop.careless = tt.careless
			said, err := certify(tt.key, tt.ways, tt.order, tt.secrets)
			if (err == nil) != tt.passes {
				t.Errorf("%v\n%s", err, said)
			}
			if err != nil {
				said += err.Error()
			}
			for _, want := range tt.want {
				if !strings.Contains(said, want) {
					t.Errorf("it does not say %q:\n%s", want, said)
				}
			}
			if strings.Contains(said, tt.key) || strings.Contains(said, "token=") || strings.Contains(said, "/v/") {
				t.Errorf("a secret is shown:\n%s", said)
			}
		})
	}
}
