package dashboard_test

import (
	"strings"
	"testing"

	"agegate/internal/backoffice/drift"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
)

// feed counts n checks with an estimate, and complete a window.
func feed(t *testing.T, g *gatewaytest.Gateway, n int, years float64) {
	t.Helper()
	for range n {
		g.App.Drift.Count(drift.ChromeAndroid, drift.Estimated, years)
	}
	if err := g.App.Drift.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.Clock.Advance(drift.WindowTime)
	for range drift.MinGroup {
		g.App.Drift.Count(drift.ChromeAndroid, drift.Estimated, years)
	}
	if err := g.App.Drift.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestDriftIsShown: an operator sees what is counted, and a notice on each page
// where the estimates are far from the reference. No page changes the margin.
func TestDriftIsShown(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op := operating(t, g)
		shows := func(part string, want bool) {
			t.Helper()
			res, body := op.Get(t, "/operator/drift")
			if res.StatusCode != 200 || strings.Contains(body, part) != want {
				t.Errorf("%d, shows %q: %t", res.StatusCode, part, !want)
			}
		}
		shows("There is no reference", true)
		// No models run here: the process has the empty fingerprint, which nothing is
		// compared with. The reference is one of it all the same.
		feed(t, g, drift.MinReference, 22)
		g.StepUp(t, op) // the window took longer than a confirmation lasts
		shows("Chrome on Android", true)
		shows(`data-testid="drift-notice"`, false)
		err := g.App.Store.UpdateDrift(t.Context(), func(_ drift.Tx, s *drift.State) (*audit.Act, error) {
			now := g.Clock.Now()
			s.FrozenAt, s.Families = &now, map[drift.Family]*drift.Standing{
				drift.ChromeAndroid: {Ages: drift.Measure{Reference: []int64{1}, Distant: drift.InARow}}}
			return nil, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		shows(`data-testid="drift-family"`, true)
		_, body := op.Get(t, "/operator/system")
		if !strings.Contains(body, "far from their reference (Chrome on Android)") {
			t.Error("another page of the operator has no notice")
		}
		res, _ := op.Get(t, "/operator/drift/lower")
		if res.StatusCode != 404 {
			t.Errorf("there is still a page that changes the margin: %d", res.StatusCode)
		}
	})
}
