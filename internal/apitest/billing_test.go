package apitest

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/billing"
	"agegate/internal/session"
	"agegate/internal/tenant"
)

const insufficient = `{"detail":{"code":"insufficient_credit","message":"No free check is left this month and the prepaid credit is used up. Top up to resume verifications."}}`

func freeChecks(n int64) func(*tenant.Tenant) {
	return func(shop *tenant.Tenant) { shop.FreeChecks = &n }
}

func (g *Gateway) topUp(t *testing.T, c tenant.Credentials, n int64) {
	t.Helper()
	if _, err := billing.TopUp(t.Context(), g.App.Store, c.Tenant.ID, n, g.Clock.Now()); err != nil {
		t.Fatal(err)
	}
}

// account checks that the ledger explains the balance, and returns the balance.
func (g *Gateway) account(t *testing.T, c tenant.Credentials) int64 {
	t.Helper()
	balance, err := g.App.Store.Credit(t.Context(), c.Tenant.ID)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := g.App.Store.Entries(t.Context(), c.Tenant.ID)
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, e := range entries {
		if e.Source == billing.SourceCredit {
			sum += e.Delta
		}
	}
	if sum != balance {
		t.Errorf("the ledger adds up to %d, the balance is %d", sum, balance)
	}
	return balance
}

func TestFreeAllowanceThenCreditThenRefusal(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		c := g.Shop(t, "", freeChecks(2))
		g.topUp(t, c, 1)
		for range 3 {
			g.Create(t, c.Live.APIKey, 18)
		}
		if left := g.account(t, c); left != 0 {
			t.Errorf("credit left: %d", left)
		}
		refused := Row{Name: "refused", Path: createPath, Key: c.Live.APIKey, Body: `{"target_age":18}`, Status: http.StatusPaymentRequired, JSON: insufficient}
		g.Do(t, refused)
		refused.Name, refused.Body, refused.Status, refused.JSON = "422 before 402", `{}`, 422, violations(violation("missing", "body", "target_age"))
		g.Do(t, refused)
		g.Create(t, c.Test.APIKey, 18) // test keys never need credit
		g.topUp(t, c, 1)
		g.Create(t, c.Live.APIKey, 18)
	})
}

func TestUnlimitedAndNoAllowance(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		unlimited, none := g.Shop(t, "", freeChecks(billing.Unlimited)), g.Shop(t, "", freeChecks(0))
		for range 5 {
			g.Create(t, unlimited.Live.APIKey, 18)
		}
		g.Do(t, Row{Name: "none", Path: createPath, Key: none.Live.APIKey, Body: `{"target_age":18}`, Status: 402, JSON: insufficient})
	}, "AGEGATE_FREE_CHECKS_PER_MONTH=1")
}

func TestExpiredSessionGivesItsUnitBack(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		for name, setUp := range map[string]func() tenant.Credentials{
			"free": func() tenant.Credentials { return g.Shop(t, "", freeChecks(1)) },
			"credit": func() tenant.Credentials {
				c := g.Shop(t, "", freeChecks(0))
				g.topUp(t, c, 1)
				return c
			},
		} {
			c := setUp()
			lapsed := g.Create(t, c.Live.APIKey, 18)
			full := Row{Name: name, Path: createPath, Key: c.Live.APIKey, Body: `{"target_age":18}`, Status: 402, JSON: insufficient}
			g.Do(t, full)
			// Nobody looks the session up: its unit is free from its expiry on.
			g.Clock.Advance(30 * time.Minute)
			next := g.Create(t, c.Live.APIKey, 18)
			g.Do(t, full)
			if _, err := g.App.Sessions.Resolve(t.Context(), g.session(t, lapsed), session.Verdict{Result: session.ResultVerified}); err == nil {
				t.Errorf("%s: a session whose unit was given away still completed", name)
			}
			g.resolve(t, next, session.Verdict{Result: session.ResultSpoof})
			g.Clock.Advance(time.Hour)
			g.Do(t, full) // a completed session keeps its unit
			g.account(t, c)
		}
	})
}

func TestTestSessionDailyCap(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		c := g.Shop(t, "", freeChecks(0))
		for range 3 {
			g.Create(t, c.Test.APIKey, 18)
		}
		capped := Row{Path: createPath, Key: c.Test.APIKey, Body: `{"target_age":18}`}
		res, body := g.send(t, capped)
		midnight := g.Clock.Now().Truncate(24 * time.Hour).Add(24 * time.Hour)
		var seconds int
		if _, err := fmt.Sscan(res.Header.Get("Retry-After"), &seconds); err != nil {
			t.Errorf("Retry-After: %v", err)
		}
		off := midnight.Sub(g.Clock.Now()) - time.Duration(seconds)*time.Second
		if res.StatusCode != http.StatusTooManyRequests || body != `{"detail":"Test session daily cap reached"}`+"\n" || off.Abs() > time.Minute {
			t.Errorf("status %d, body %s, Retry-After %d", res.StatusCode, body, seconds)
		}
		g.Clock.Advance(time.Until(midnight) + time.Second)
		g.Create(t, c.Test.APIKey, 18)
	}, "AGEGATE_TEST_DAILY_CAP=3")
}

func TestNeverOverspentUnderConcurrency(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		c := g.Shop(t, "", freeChecks(10))
		g.topUp(t, c, 7)
		var made, refused atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 5 {
					res, body := g.send(t, Row{Path: createPath, Key: c.Live.APIKey, Body: `{"target_age":18}`})
					switch res.StatusCode {
					case http.StatusCreated:
						made.Add(1)
					case http.StatusPaymentRequired:
						refused.Add(1)
					default:
						t.Errorf("status %d: %s", res.StatusCode, body)
					}
				}
			})
		}
		wg.Wait()
		if made.Load() != 17 || refused.Load() != 23 {
			t.Errorf("%d made, %d refused of 40; 17 units were there", made.Load(), refused.Load())
		}
		if left := g.account(t, c); left != 0 {
			t.Errorf("credit left: %d", left)
		}
	})
}
