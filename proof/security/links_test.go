package security

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/proof/table"
)

// linkUses is how often a link may be posted in a quarter of an hour.
const linkUses = 10

// The holder of an invitation posts passwords to it repeatedly: for many invented
// addresses at the same time, and for the address of an existing account, whose
// user logs in meanwhile.
func TestInvitationsWithPasswords(t *testing.T) {
	onEach(t, "Passwords posted to an invitation", func(t *testing.T, g *gatewaytest.Gateway, r *table.Row) {
		const guess = "four wrong owls under a moon"
		posts, attempts := table.Sized(100, 40), table.Sized(40, 4)
		person, _ := newcomer(t, g)
		shop := g.Shop(t, "", nil).Tenant.ID
		owner := g.SignIn(t, false)
		g.Join(t, owner, shop, account.Owner)
		invite := func() string {
			link, err := g.App.Accounts.Invite(t.Context(), g.Access(t, owner, shop), account.Invitation{Role: account.Viewer})
			if err != nil {
				t.Fatal(err)
			}
			return mustURL(t, link).Path
		}
		answers := map[int]int{}
		var mu sync.Mutex
		join := func(invitation, email, password string) (int, string) {
			res, body := g.Nobody().Post(t, invitation, url.Values{"name": {"Eve"}, "email": {email}, "password": {password}})
			mu.Lock()
			defer mu.Unlock()
			answers[res.StatusCode]++
			return res.StatusCode, body
		}
		logIn := func() error {
			res, _ := g.Nobody().Post(t, "/dashboard/login", url.Values{"email": {person.Email}, "password": {person.Password}})
			if res.StatusCode != http.StatusSeeOther {
				return errors.New(res.Status)
			}
			return nil
		}
		before := processorTime()
		for range 4 {
			for err := logIn(); err != nil; err = logIn() {
				if !strings.Contains(err.Error(), "503") {
					t.Fatal(err)
				}
			}
		}
		hashing := (processorTime() - before) / 4

		atOnce, users := invite(), g.Count(t, "users")
		before = processorTime()
		var strangers sync.WaitGroup
		for i := range posts {
			strangers.Go(func() { join(atOnce, fmt.Sprint(i, "@made.up"), person.Password) })
		}
		strangers.Wait()
		// Those after the first success find no invitation, so answers do not say how
		// many passwords were hashed: the link allows ten.
		worth := int((processorTime() - before) / hashing)
		r.Mark("worth of posts at once, in hashed passwords", fmt.Sprintf("< %d", posts/2), fmt.Sprint(worth),
			worth < posts/2)
		clear(answers)
		made := g.Count(t, "users") - users
		r.Mark("users made by one invitation", "1", fmt.Sprint(made), made == 1)

		told := 0
		for _, password := range []string{"short", guess} {
			known, page := join(invite(), person.Email, password)
			if known != http.StatusUnprocessableEntity || strings.Contains(page, "taken") {
				told++
			}
		}
		free, _ := join(invite(), "nobody@made.up", "short")
		r.Mark("answers that tell of an account without using the invitation up", "0", fmt.Sprint(told), told == 0 &&
			free == http.StatusUnprocessableEntity)
		clear(answers)

		invitation := invite()
		costs(r, "processor time of a post", posts, func(int) { join(invitation, person.Email, guess) })
		posted := besideAttack(t, r, attempts, func(int) { join(invitation, person.Email, guess) }, logIn)
		looked := 0
		for status, times := range answers {
			if status != http.StatusTooManyRequests {
				looked += times
			}
		}
		r.Mark("posts that asked for an account", fmt.Sprintf("<= %d", linkUses), fmt.Sprint(looked), looked <= linkUses)
		r.Didf("%d posts at once, %d one after the other, and %d beside %d log-ins", posts, posts, posted, attempts)
	})
}
