package gatewaytest

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/billing/billingtest"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

const insufficient = `{"detail":{"code":"insufficient_credit","message":"No free check is left this month and the prepaid credit is used up. Top up to resume verifications."}}`

func freeChecks(n int64) func(*tenant.Tenant) {
	return func(shop *tenant.Tenant) { shop.FreeChecks = &n }
}

// midMonth moves the clock far from the ends of a day and of a month, when daily
// and monthly allowances are renewed.
func (g *Gateway) midMonth() {
	g.Clock.Set(time.Date(2031, time.March, 10, 12, 0, 0, 0, time.UTC))
}

func (g *Gateway) topUp(t *testing.T, c tenant.Credentials, n int64) {
	t.Helper()
	if _, err := billing.TopUp(t.Context(), g.App.Store, audit.System("test"), c.Tenant.ID, n, "",
		g.Clock.Now()); err != nil {
		t.Fatal(err)
	}
}

// account checks that the ledger entries add up to the balance, and returns the
// balance.
func (g *Gateway) account(t *testing.T, c tenant.Credentials) int64 {
	t.Helper()
	balance, err := g.App.Store.Credit(t.Context(), c.Tenant.ID)
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for e, err := range billingtest.Ledger(t.Context(), g.App.Store, c.Tenant.ID) {
		if err != nil {
			t.Fatal(err)
		}
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
		g.midMonth()
		c := g.Shop(t, "", freeChecks(2))
		g.topUp(t, c, 1)
		for range 3 {
			g.Create(t, c.Live.APIKey, 18)
		}
		if left := g.account(t, c); left != 0 {
			t.Errorf("credit left: %d", left)
		}
		refused := Row{Name: "refused", Path: createPath, Key: c.Live.APIKey, Body: `{"target_age":18}`,
			Status: http.StatusPaymentRequired, JSON: insufficient}
		g.Do(t, refused)
		refused.Name, refused.Body, refused.Status, refused.JSON = "422 before 402", `{}`, 422,
			violations(violation("missing", "body", "target_age"))
		g.Do(t, refused)
		g.Create(t, c.Test.APIKey, 18) // test keys never need credit
		g.topUp(t, c, 1)
		g.Create(t, c.Live.APIKey, 18)
	})
}

func TestUnlimitedAndNoAllowance(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		g.midMonth()
		unlimited, none := g.Shop(t, "", freeChecks(billing.Unlimited)), g.Shop(t, "", freeChecks(0))
		for range 5 {
			g.Create(t, unlimited.Live.APIKey, 18)
		}
		g.Do(t, Row{Name: "none", Path: createPath, Key: none.Live.APIKey, Body: `{"target_age":18}`, Status: 402,
			JSON: insufficient})
	}, "AGEGATE_FREE_CHECKS_PER_MONTH=1")
}

func TestExpiredSessionGivesItsUnitBack(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		g.midMonth()
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
			full := Row{Name: name, Path: createPath, Key: c.Live.APIKey, Body: `{"target_age":18}`, Status: 402,
				JSON: insufficient}
			g.Do(t, full)
			// Nobody looks up the session: its unit is free as soon as it
			// expires.
			g.Clock.Advance(30 * time.Minute)
			next := g.Create(t, c.Live.APIKey, 18)
			g.Do(t, full)
			if _, err := g.App.Sessions.Resolve(t.Context(), g.session(t, lapsed),
				session.CheckResult{Result: session.ResultVerified}); err == nil {
				t.Errorf("%s: a session whose unit was given away still completed", name)
			}
			g.resolve(t, next, session.CheckResult{Result: session.ResultSpoof})
			g.Clock.Advance(time.Hour)
			g.Do(t, full) // a completed session still uses its unit
			g.account(t, c)
		}
	})
}

func TestTestSessionDailyCap(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		midnight := time.Date(2031, time.March, 11, 0, 0, 0, 0, time.UTC)
		g.Clock.Set(midnight.Add(-time.Hour))
		c, other := g.Shop(t, "", freeChecks(0)), g.Shop(t, "", nil)
		for range 3 {
			g.Create(t, c.Test.APIKey, 18)
		}
		res, body := g.send(t, Row{Path: createPath, Key: c.Test.APIKey, Body: `{"target_age":18}`})
		seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
		if err != nil || seconds > 3600 || seconds < 1800 {
			t.Errorf("an hour before midnight, Retry-After is %q", res.Header.Get("Retry-After"))
		}
		if res.StatusCode != http.StatusTooManyRequests || body != `{"detail":"Test session daily cap reached"}`+"\n" {
			t.Errorf("status %d, body %s", res.StatusCode, body)
		}
		g.Do(t, Row{Name: "422 before 429", Path: createPath, Key: c.Test.APIKey, Body: `{}`, Status: 422,
			JSON: violations(violation("missing", "body", "target_age"))})
		g.Create(t, other.Test.APIKey, 18)
		g.Create(t, other.Live.APIKey, 18)
		g.Clock.Set(midnight)
		g.Create(t, c.Test.APIKey, 18)
	}, "AGEGATE_TEST_DAILY_CAP=3")
}

func TestAllowanceIsOfTheMonth(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		turn := time.Date(2031, time.April, 1, 0, 0, 0, 0, time.UTC)
		g.Clock.Set(turn.Add(-20 * time.Minute))
		c := g.Shop(t, "", freeChecks(1))
		g.topUp(t, c, 1)
		full := Row{Path: createPath, Key: c.Live.APIKey, Body: `{"target_age":18}`, Status: 402, JSON: insufficient}
		create := func(name string, units int) {
			t.Helper()
			for range units {
				g.Create(t, c.Live.APIKey, 18)
			}
			full.Name = name
			g.Do(t, full)
			g.account(t, c)
		}
		create("in March, one free and one of credit", 2)
		g.Clock.Set(turn)
		create("in April, one free", 1)
		// The sessions of March expire: the credit is returned, and so is March's
		// free check.
		g.Clock.Set(turn.Add(20 * time.Minute))
		create("when the sessions of March have expired", 1)
	})
}

func TestAllowanceIsChangedWithinAMonth(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		g.midMonth()
		c := g.Shop(t, "", freeChecks(2))
		row := Row{Path: createPath, Key: c.Live.APIKey, Body: `{"target_age":18}`}
		for _, step := range []struct{ limit, more int64 }{ // how many more sessions are possible
			{2, 2}, {3, 1}, {1, 0}, {0, 0}, {3, 0}, {5, 2},
		} {
			if _, err := g.App.Tenants.Update(t.Context(), audit.System("test"), c.Tenant.ID,
				tenant.Changes{FreeChecks: &step.limit}); err != nil {
				t.Fatal(err)
			}
			row.Status, row.JSON = http.StatusCreated, ""
			for range step.more {
				row.Name = fmt.Sprint("within ", step.limit)
				g.Do(t, row)
			}
			row.Name, row.Status, row.JSON = fmt.Sprint("over ", step.limit), http.StatusPaymentRequired, insufficient
			g.Do(t, row)
		}
		unlimited := int64(billing.Unlimited)
		if _, err := g.App.Tenants.Update(t.Context(), audit.System("test"), c.Tenant.ID,
			tenant.Changes{FreeChecks: &unlimited}); err != nil {
			t.Fatal(err)
		}
		g.Create(t, c.Live.APIKey, 18)
	})
}

func TestNeverOverspentUnderConcurrency(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		g.midMonth()
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
