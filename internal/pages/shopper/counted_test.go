package shopper

import (
	"slices"
	"testing"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"

	"github.com/coder/websocket"
)

// TestWhatIsCounted: every check of a live session is counted once, by how it
// ended; what the server did not serve to its end is not, nor are test sessions.
func TestWhatIsCounted(t *testing.T) {
	t.Parallel()
	met := verdict(age.VerdictMet, 31)
	met.Cutoff = 27.5
	for _, row := range []struct {
		name     string
		livemode bool
		steps    []age.Step
		leaves   bool // the shopper goes after the last step
		want     []string
	}{
		{"met", true, []age.Step{stepBegun, met}, false, []string{"passed"}},
		{"below", true, []age.Step{stepBegun, verdict(age.VerdictBelow, 16.5)}, false,
			[]string{"below"}},
		{"not live", true, []age.Step{stepBegun, verdict(age.VerdictSpoof, 0)}, false,
			[]string{"not_live"}},
		{"nothing usable", true, []age.Step{stepFraming, verdict(age.VerdictNoCapture, 0)}, false,
			[]string{"unusable"}},
		{"the server was too slow", true, []age.Step{stepBegun, unfinished(age.ReasonUnserved)}, false, nil},
		{"a test session", false, []age.Step{stepBegun, met}, false, nil},
		{"left in the challenge", true, []age.Step{stepBegun, stepBegun}, true, []string{"left"}},
		{"no verdict in its time", true, []age.Step{stepBegun}, false, []string{"unusable"}},
		{"left before it", true, []age.Step{stepFraming, stepFraming}, true, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			inOwnTime(t, func(t testing.TB) {
				f := newFixture(t, tenant.Tenant{}, scripted(row.steps...))
				var counted []string
				f.pages.cfg.Counted = func(ended string) { counted = append(counted, ended) }
				if row.name == "no verdict in its time" {
					f.pages.budget.whole = time.Second
				}
				shopper := f.browser()
				link := f.session(row.livemode)
				shopper.post(link+"/start", nil)
				c := shopper.opened(link)
				for i := range row.steps {
					c.send(frame(scriptNonce, uint32(i)))
					c.read()
				}
				if row.leaves {
					must(t, c.conn.Close(websocket.StatusNormalClosure, ""))
				}
				time.Sleep(2 * time.Second)
				f.fills(0)
				if !slices.Equal(counted, row.want) {
					t.Errorf("counted %q, want %q", counted, row.want)
				}
				if row.name == "met" {
					if basis := f.stored(link).Basis; f.stored(link).Status != session.StatusPassed || basis.Cutoff == nil ||
						*basis.Cutoff != 27.5 {
						t.Errorf("decided by %+v", basis)
					}
				}
			})
		})
	}
}
