package security

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/store/pgtest"
	"agegate/proof/table"
)

// TestMadeUpLogIns: strangers try invented addresses and a real one, more often
// than the gateway checks passwords, while a user logs in repeatedly in a browser
// in which they have logged in before.
func TestMadeUpLogIns(t *testing.T) {
	table.Beside(t)
	for name, url := range map[string]func(*testing.T) string{
		"SQLite":     func(t *testing.T) string { return gatewaytest.SQLite(t) },
		"PostgreSQL": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			table.Beside(t)
			madeUp(t, gatewaytest.Start(t, url(t)), table.New(t, "Made-up log-ins beside a known browser, "+name))
		})
	}
}

func madeUp(t *testing.T, g *gatewaytest.Gateway, r *table.Row) {
	person, signed := newcomer(t, g)
	attempts, hands := table.Sized(24, 5), 40
	stop := make(chan struct{})
	var strangers sync.WaitGroup
	made, refused := make([]int, hands), make([]int, hands)
	for hand := range hands {
		strangers.Go(func() {
			tick := time.NewTicker(time.Second / 4)
			defer tick.Stop()
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-tick.C:
				}
				email := fmt.Sprint(hand, "-", i, "@made.up")
				if i%5 == 0 {
					email = person.Email
				}
				_, err := g.App.Accounts.LogIn(t.Context(), email, "wrong", account.Browser{})
				made[hand]++
				if errors.As(err, new(*account.ThrottleError)) {
					refused[hand]++
				}
			}
		})
	}
	known := account.Browser{Device: signed.Device}
	var out []string
	var took []time.Duration
	for range attempts {
		time.Sleep(time.Second / 4)
		start := time.Now()
		if _, err := g.App.Accounts.LogIn(t.Context(), person.Email, person.Password, known); err != nil {
			out = append(out, err.Error())
		}
		took = append(took, time.Since(start))
	}
	close(stop)
	strangers.Wait()
	all, late := 0, 0
	for i := range made {
		all, late = all+made[i], late+refused[i]
	}
	r.Didf("%d made-up log-ins, %d of them refused unchecked, beside %d of a known browser", all, late, attempts)
	r.Timely("refused unchecked", "> 0", fmt.Sprint(late), late > 0)
	r.None("log-ins of the known browser that were refused", out)
	r.Within("95 of 100 of them took", quantile(took, 0.95), time.Second)
}

// newcomer sets up a user with a password, and returns the cookies of their
// browser.
func newcomer(t *testing.T, g *gatewaytest.Gateway) (account.Person, account.Signed) {
	t.Helper()
	address, err := g.App.Accounts.NewSetupLink(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	person := account.Person{Name: "Ada", Email: "ada@shop.example",
		Factor: account.Factor{Password: "four owls under a blue moon"}}
	signed, err := g.App.Accounts.SetUp(t.Context(), address[strings.LastIndex(address, "/")+1:], person,
		account.Browser{})
	if err != nil {
		t.Fatal(err)
	}
	return person, signed
}
