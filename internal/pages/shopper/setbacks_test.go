package shopper

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// TestNoWayBackWithoutAReason walks every end of a camera check, from every state that it
// may have reached: where the page goes back to the beginning of the camera step, it says
// why, and the session keeps it. machine.test.mjs walks the ways within the page.
func TestNoWayBackWithoutAReason(t *testing.T) {
	t.Parallel()
	finds := func(s age.Step) func(context.Context) (age.Step, error) {
		return func(context.Context) (age.Step, error) { return s, nil }
	}
	because := func(why age.Reason) func(context.Context) (age.Step, error) { return finds(unfinished(why)) }
	ends := []struct {
		name string
		why  string // "": the check ends
		end  func(context.Context) (age.Step, error)
	}{
		{"cut", session.WhyLeft, nil},
		{"closed by its limits", session.WhyAgain, nil},
		{"no capture", session.WhyAgain, finds(verdict(age.VerdictNoCapture, 0))},
		{"astray", session.WhyAstray, because(age.ReasonAstray)},
		{"unmoved", session.WhyUnmoved, because(age.ReasonUnmoved)},
		{"hasty", session.WhyHasty, because(age.ReasonHasty)},
		{"drawn", session.WhyDrawn, because(age.ReasonDrawn)},
		{"too slow", session.WhyBusy, because(age.ReasonUnserved)},
		{"failed", session.WhyBusy, func(context.Context) (age.Step, error) { return age.Step{}, errors.New("no model") }},
		{"not live", session.WhyUnsure, finds(verdict(age.VerdictSpoof, 0))},
		{"below", "", finds(verdict(age.VerdictBelow, 16))},
		{"met", "", finds(verdict(age.VerdictMet, 40))},
	}
	for name, settings := range map[string]tenant.Tenant{"plain": {}, "consent": {AgeVisibility: true},
		"document": {DocumentCheck: true}} {
		for state, first := range map[string]age.Step{"framing": stepFraming, "begun": stepBegun} {
			for _, before := range []int{0, 1, session.MaxAttempts - 1} {
				for _, row := range ends {
					begun := state == "begun"
					if !begun && row.name != "cut" && row.why != session.WhyAgain && row.why != session.WhyUnsure {
						continue // needs a challenge
					}
					t.Run(fmt.Sprintf("%s, %s after %d, %s", name, state, before, row.name), func(t *testing.T) {
						inOwnTime(t, func(t testing.TB) {
							f := newFixture(t, settings, func(session.Session, bool) Capture {
								return &faulty{script{steps: []age.Step{first}}, row.end}
							})
							if row.name == "closed by its limits" {
								f.pages.budget.whole = 300 * time.Millisecond
							}
							shopper := f.browser()
							link := f.session(true)
							shopper.post(link+"/start", nil)
							f.attempts(link, before)
							c := shopper.opened(link)
							c.send(frame(scriptNonce, 0))
							c.read()
							switch {
							case row.name == "cut":
								c.conn.CloseNow()
							case row.end != nil:
								c.send(frame(scriptNonce, 1))
							}
							time.Sleep(time.Minute) // nobody reads what the server says
							f.fills(0)
							page, s := shopper.get(link+"/camera"), f.stored(link)
							back := strings.Contains(page.body, `data-testid="screen-primer"`)
							if back != (row.why != "" && s.AttemptsLeft() > 0) {
								t.Fatalf("with %d attempts left, back at the camera: %t, %d", s.AttemptsLeft(), back, page.StatusCode)
							}
							kept := begun || row.name != "cut" // nothing had begun: the shopper just left
							if !back || !kept && before == 0 {
								return
							}
							page.shows(t, http.StatusOK, "again")
							if strings.Contains(page.body, `data-testid="again" hidden`) {
								t.Error("back without a word")
							}
							for why, text := range map[string]string{session.WhyBusy: "The service does not answer",
								session.WhyUnsure: "We could not confirm a live person", session.WhyLeft: "The attempt was interrupted",
								session.WhyAgain: "Find even light"} {
								if said := strings.Contains(page.body, text); said != (row.why == why) {
									t.Errorf("says %q: %t", text, said)
								}
							}
							if n := len(s.Setbacks); kept && (n != 1 || s.Setbacks[0].Why != row.why) {
								t.Errorf("kept %v", s.Setbacks)
							}
						})
					})
				}
			}
		}
	}
}
