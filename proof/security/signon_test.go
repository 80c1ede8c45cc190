package security

import (
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/proof/table"
)

var people = map[string]any{"groups": []string{"people"}}

// database names the database of a test by gatewaytest.Each.
func database(t *testing.T) string { return t.Name()[strings.LastIndex(t.Name(), "/")+1:] }

// TestCrowdedProvider: strangers send made-up answers to a provider that takes its
// time, while people log in by it, half of them in a browser that it has let in
// before.
func TestCrowdedProvider(t *testing.T) {
	table.Beside(t)
	const strangers = 24
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		idp := gatewaytest.NewIDP(t)
		g = g.Restart(t, idp.Settings("people=operator")...)
		r := table.New(t, "A provider's places, "+database(t))
		known := g.Nobody()
		known.LogInBy(t, idp, account.SSOPath, people)
		idp.Slow(300 * time.Millisecond)
		stop := make(chan struct{})
		var all sync.WaitGroup
		made := make([]int, strangers)
		for i := range strangers {
			all.Go(func() {
				for ; ; made[i]++ {
					select {
					case <-stop:
						return
					default:
					}
					s := g.Nobody()
					res, _ := s.Get(t, account.SSOPath)
					asked, err := url.Parse(res.Header.Get("Location"))
					if err != nil {
						return
					}
					state := asked.Query().Get("state")
					s.Get(t, account.SSOBackPath+"?"+url.Values{"code": {"made-up"}, "state": {state}}.Encode())
				}
			})
		}
		attempts := table.Sized(20, 6)
		var failed []string
		var took []time.Duration
		for i := range attempts {
			browser := known
			if i%2 == 1 {
				browser = g.Nobody()
			}
			start := time.Now()
			res := browser.LogInBy(t, idp, account.SSOPath, people)
			if res.Header.Get("Location") != "/dashboard" {
				failed = append(failed, res.Status+" "+gatewaytest.Notice(res))
			}
			if i%2 == 0 {
				took = append(took, time.Since(start))
			}
		}
		close(stop)
		all.Wait()
		n := 0
		for _, m := range made {
			n += m
		}
		r.Didf("%d made-up answers of %d strangers beside %d log-ins", n, strangers, attempts)
		r.None("log-ins that failed", failed)
		r.Within("95 of 100 in a known browser took", quantile(took, 0.95), 2*time.Second)
	})
}
