package bench

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
)

// looks returns the pages that staff and operators look at most, as reads of a crowded gateway.
func (c *crowded) looks(b *testing.B) []read {
	b.Helper()
	staff, console := c.SignIn(b, false, account.ByPasskey), c.SignIn(b, true, account.ByPasskey)
	c.Join(b, staff, c.tenants[0], account.Owner)
	get := func(by *gatewaytest.Staff, paths ...string) func(i int) {
		return func(i int) {
			path := paths[i%len(paths)]
			res, _ := by.Send(b, http.MethodGet, path, nil, map[string]string{"Accept-Encoding": "gzip"})
			if res.StatusCode != http.StatusOK {
				b.Fatalf("%s: %d", path, res.StatusCode)
			}
		}
	}
	live := "/dashboard/" + c.tenants[0].String() + "/live"
	month := time.Now().AddDate(0, -2, 0).Format(time.DateOnly)
	overview := get(staff, live+"?window=24h", live+"?window=7d", live+"?window=30d")
	return []read{
		{"list", 0, get(staff, live+"/sessions", live+"/sessions?status=SPOOF", live+"/sessions?age=16",
			live+"/sessions?to="+month)},
		{"search", 0, func(i int) {
			order := url.Values{"text": {fmt.Sprintf("a%d", (i+1)*2*7919%c.n)}} // even ones are of the first tenant
			if res, _ := staff.Post(b, live+"/paste", order); res.StatusCode != http.StatusSeeOther {
				b.Fatalf("the search for %v: %d", order, res.StatusCode)
			}
		}},
		{"overview", 0, func(i int) {
			c.Clock.Advance(16 * time.Second) // expires the cached values
			overview(i)
		}},
		{"ledger", 0, get(staff, live+"/billing")},
		{"operator", 0, func(i int) {
			c.Clock.Advance(16 * time.Second)
			get(console, "/operator")(i)
		}},
	}
}

// benchmarkLooks prints how long pages take with many sessions and with few, in turn.
func benchmarkLooks(b *testing.B, large, small *crowded) {
	few := small.looks(b)
	for i, row := range large.looks(b) {
		b.Run("page/"+row.name, func(b *testing.B) {
			var took [2][]time.Duration
			for n := 0; b.Loop(); n++ {
				for one, do := range []func(int){row.do, few[i].do} {
					began := time.Now()
					if do(n); n > 0 { // the first fills caches
						took[one] = append(took[one], time.Since(began))
					}
				}
			}
			for one, name := range []string{"large", "small"} {
				b.ReportMetric(quantile(took[one], 0.5), name+"_p50_ms")
				b.ReportMetric(quantile(took[one], 0.95), name+"_p95_ms")
			}
		})
	}
}
