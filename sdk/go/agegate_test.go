package agegate

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// The known answers that the SDKs share.
func TestVectors(t *testing.T) {
	data, err := os.ReadFile("../vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Redirects []struct {
			Name, Query, Session, Want string
			Now                        int64
			Secrets                    []string
		}
		Webhooks []struct {
			Name, Body, Secret, Want string
			Now                      int64
			Headers                  map[string]string
		}
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors.Redirects) < 40 || len(vectors.Webhooks) < 25 {
		t.Fatal("vectors are missing")
	}
	want := map[string]string{"accepted": "<nil>", "refused": ErrRedirect.Error(), "secret": ErrRedirectSecret.Error()}
	for _, v := range vectors.Redirects {
		if got := text(verifyRedirect(time.Unix(v.Now, 0), v.Query, v.Session, v.Secrets)); got != want[v.Want] {
			t.Errorf("redirect %q: %s, want %s", v.Name, got, want[v.Want])
		}
	}
	want = map[string]string{"accepted": "<nil>", "refused": ErrWebhook.Error(), "secret": ErrWebhookSecret.Error()}
	for _, v := range vectors.Webhooks {
		header := http.Header{}
		for name, value := range v.Headers {
			header.Set(name, value)
		}
		event, err := verifyWebhook(time.Unix(v.Now, 0), header, []byte(v.Body), v.Secret)
		if got := text(err); got != want[v.Want] {
			t.Errorf("webhook %q: %s, want %s", v.Name, got, want[v.Want])
		}
		if err == nil && (event.Status != ResultStatusVerified || !event.IsAdult || event.Livemode) {
			t.Errorf("webhook %q: %+v", v.Name, event)
		}
	}
}

func text(err error) string {
	if err == nil {
		return "<nil>"
	}
	return err.Error()
}

func TestRefusals(t *testing.T) {
	for body, want := range map[string]Error{
		`{"detail":"Invalid API key"}`:                                  {Detail: "Invalid API key"},
		`{"detail":{"code":"insufficient_credit","message":"Top up."}}`: {Detail: "Top up.", Code: "insufficient_credit"},
		`{"detail":[{"type":"missing","loc":["body","target_age"],"msg":"validation failed"}]}`: {
			Detail: "missing at body.target_age", Violations: []Violation{{Type: "missing"}},
		},
		`<html>`: {Detail: "Service Unavailable"},
		``:       {Detail: "Service Unavailable"},
	} {
		c := answering(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Request-ID", "R1")
			w.Header().Set("Retry-After", "5")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, body)
		})
		_, err := c.CreateSession(context.Background(), CreateSessionRequest{TargetAge: 18}, CreateSessionParams{})
		var got *Error
		if !errors.As(err, &got) || got.Status != 503 || got.Detail != want.Detail || got.Code != want.Code ||
			err.Error() != "agegate: 503 "+want.Detail+" (request R1)" ||
			len(got.Violations) != len(want.Violations) || got.RequestID != "R1" || got.RetryAfter != 5*time.Second {
			t.Errorf("%s: %+v", body, err)
		}
	}
}

func TestRefusalNamesItsHelp(t *testing.T) {
	c := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", `</docs/errors#invalid>; rel="help", </docs/errors#other>; rel="help"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	_, err := c.GetSessionStatus(context.Background(), "s")
	if want := "agegate: 401 Unauthorized, see " + c.baseURL + "/docs/errors#invalid"; text(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestKeyGoesNowhereElse(t *testing.T) {
	reached := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer elsewhere.Close()
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL,
			http.StatusFound)
	})
	var refused *Error
	if _, err := c.GetSessionStatus(context.Background(), "a/b"); !errors.As(err, &refused) || refused.Status != 302 ||
		reached {
		t.Errorf("a redirect was followed: %v", err)
	}
	for _, bad := range [][2]string{{"", "svc_test_x"}, {"age.example.com", "svc_test_x"},
		{"ftp://age.example.com", "svc_test_x"}, {"https://age.example.com", ""}} {
		if _, err := New(bad[0], bad[1]); err == nil {
			t.Errorf("New takes %q", bad)
		}
	}
}

func TestRequests(t *testing.T) {
	var got string
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = strings.Join([]string{r.Method, r.RequestURI, r.Header.Get("X-API-Key"), r.Header.Get("Idempotency-Key"),
			string(body)}, " ")
		_, _ = io.WriteString(w, "{}")
	})
	ctx := context.Background()
	for want, call := range map[string]func() error{
		`POST /api/v1/sessions/create svc_test_x k1 {"target_age":18}`: func() error {
			_, err := c.CreateSession(ctx, CreateSessionRequest{TargetAge: 18}, CreateSessionParams{IdempotencyKey: "k1"})
			return err
		},
		`GET /api/v1/sessions/a%2Fb/status svc_test_x  `: func() error {
			_, err := c.GetSessionStatus(ctx, "a/b")
			return err
		},
		`GET /api/v1/test/events?session_id=s&wait=4 svc_test_x  `: func() error {
			_, err := c.ListTestEvents(ctx, ListTestEventsParams{SessionID: "s", Wait: 4})
			return err
		},
		`POST /api/v1/test/sessions/s/clock svc_test_x  {"expire":"redirect"}`: func() error {
			_, err := c.MoveTestClock(ctx, "s", TestClockRequest{Expire: ExpiringRedirect})
			return err
		},
	} {
		if err := call(); err != nil || got != want {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
}

// answering returns a client of a server of its own.
func answering(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := New(server.URL+"/", "svc_test_x")
	if err != nil {
		t.Fatal(err)
	}
	return c
}
