package gatewaytest

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"
)

func TestIdempotencyKey(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		g.midMonth()
		c, other := g.Shop(t, "", freeChecks(2)), g.Shop(t, "", nil)
		row := Row{Name: "first", Path: createPath, Key: c.Live.APIKey, Body: `{"target_age":18}`, Status: 201,
			Header: map[string]string{"Idempotency-Key": "order-1"}}
		first := g.Do(t, row)
		row.Name, row.Body = "same meaning", `{ "target_age": 18.0 }`
		if again := g.Do(t, row); again != first {
			t.Errorf("the repetition answers %s, the first use %s", again, first)
		}
		none := ""
		if _, err := g.App.Tenants.Update(t.Context(), audit.System("test"), c.Tenant.ID,
			tenant.Changes{CancelURL: &none}); err != nil {
			t.Fatal(err)
		}
		row.Name = "after the tenant's settings changed"
		if again := g.Do(t, row); again != first {
			t.Errorf("the repetition answers %s, the first use %s", again, first)
		}
		g.Do(t, Row{Name: "first use of a refused request", Path: createPath, Key: c.Live.APIKey, Body: row.Body, Status: 422,
			Header: map[string]string{"Idempotency-Key": "order-2"},
			JSON:   violations(violation("missing", "body", "cancel_url"))})
		if _, err := g.App.Tenants.Update(t.Context(), audit.System("test"), c.Tenant.ID,
			tenant.Changes{CancelURL: &c.Tenant.CancelURL}); err != nil {
			t.Fatal(err)
		}
		row.Name, row.Body, row.Status, row.JSON = "another body", `{"target_age":21}`, 409,
			`{"detail":"Idempotency key reused with a different request"}`
		g.Do(t, row)
		row.Name, row.Body, row.Status, row.JSON = "another mode", `{"target_age":18}`, 201, ""
		row.Key = c.Test.APIKey
		if body := g.Do(t, row); body == first {
			t.Error("the other mode's session was answered")
		}
		row.Name, row.Key = "another tenant", other.Live.APIKey
		if body := g.Do(t, row); body == first {
			t.Error("another tenant's session was answered")
		}
		row.Key, row.Name, row.Status = c.Live.APIKey, "too long a key", 422
		row.Header = map[string]string{"Idempotency-Key": strings.Repeat("k", 256)}
		g.Do(t, row)
		g.Clock.Advance(24*time.Hour + time.Second)
		row.Header = map[string]string{"Idempotency-Key": "order-1"}
		row.Name, row.Status = "forgotten after a day", 201
		if body := g.Do(t, row); body == first {
			t.Error("the key was remembered for longer than a day")
		}
	})
}

// A repeated request gets the first answer and a header that says so, even when
// nobody can use the session any more.
func TestReplayIsMarked(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		g.midMonth()
		c := g.Shop(t, "", freeChecks(1))
		row := Row{Path: createPath, Key: c.Live.APIKey, Body: `{"target_age":18}`,
			Header: map[string]string{"Idempotency-Key": "order-1"}}
		first, body := g.send(t, row)
		if mark := first.Header.Values("Idempotent-Replayed"); first.StatusCode != 201 || len(mark) > 0 {
			t.Fatalf("the first answer is %d, marked %q: %s", first.StatusCode, mark, body)
		}
		var created Created
		if err := json.Unmarshal([]byte(body), &created); err != nil {
			t.Fatal(err)
		}
		replayed := func(when string) {
			t.Helper()
			res, again := g.send(t, row)
			if mark := res.Header.Get("Idempotent-Replayed"); res.StatusCode != 201 || mark != "true" || again != body {
				t.Errorf("%s: %d, marked %q: %s", when, res.StatusCode, mark, again)
			}
		}
		replayed("at once")
		g.Clock.Advance(31 * time.Minute)
		replayed("after the expiry")
		if status := g.StatusOf(t, c.Live.APIKey, created); status != "EXPIRED" {
			t.Errorf("the session is %s", status)
		}
		replayed("after the expiry was written")
		row.Body = `{"target_age":21}`
		if res, _ := g.send(t, row); res.StatusCode != 409 || res.Header.Get("Idempotent-Replayed") != "" {
			t.Errorf("another body: %d, marked %q", res.StatusCode, res.Header.Get("Idempotent-Replayed"))
		}
		row.Body, row.Header = `{"target_age":18}`, map[string]string{"Idempotency-Key": "order-2"}
		if res, again := g.send(t, row); res.StatusCode != 201 || res.Header.Get("Idempotent-Replayed") != "" ||
			again == body {
			t.Errorf("a new key: %d, marked %q: %s", res.StatusCode, res.Header.Get("Idempotent-Replayed"), again)
		}
	})
}

func TestRefusedCreationLeavesTheIdempotencyKeyFree(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		g.midMonth()
		c := g.Shop(t, "", freeChecks(0))
		row := Row{Name: "no credit", Path: createPath, Key: c.Live.APIKey, Body: `{"target_age":18}`, Status: 402,
			Header: map[string]string{"Idempotency-Key": "order-1"}}
		g.Do(t, row)
		g.topUp(t, c, 1)
		row.Name, row.Status = "after top-up", 201
		g.Do(t, row)
	})
}

func TestIdempotencyKeyUnderConcurrency(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		c := g.Shop(t, "", freeChecks(1))
		bodies := make([]string, 10)
		var wg sync.WaitGroup
		for i := range bodies {
			wg.Go(func() {
				res, body := g.send(t, Row{Path: createPath, Key: c.Live.APIKey, Body: `{"target_age":18}`,
					Header: map[string]string{"Idempotency-Key": "order-1"}})
				if res.StatusCode != http.StatusCreated {
					t.Errorf("status %d: %s", res.StatusCode, body)
				}
				bodies[i] = body
			})
		}
		wg.Wait()
		for _, body := range bodies {
			if body != bodies[0] {
				t.Fatalf("two answers for one key: %s and %s", body, bodies[0])
			}
		}
	})
}
