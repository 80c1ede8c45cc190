package dashboard_test

import (
	"strings"
	"testing"

	"agegate/internal/backoffice/drift"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
)

// feed lets the governor count n checks with an estimate, and complete a window.
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

// TestDriftIsShownAndEndedByAPerson: a raise is a notice on the operator's pages, in
// the log and in the audit log, and ends by an operator who confirms.
func TestDriftIsShownAndEndedByAPerson(t *testing.T) {
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
		res, _ := op.Get(t, "/operator/drift/lower")
		want(t, "nothing to lower", res, 303, "/operator/drift")
		err := g.App.Store.UpdateDrift(t.Context(), func(_ drift.Tx, s *drift.State) (*audit.Act, error) {
			now := g.Clock.Now()
			s.Raised, s.RaisedAt, s.RaisedBy = 2, &now, drift.ChromeAndroid
			return nil, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		shows(`data-testid="drift-raised"`, true)
		_, body := op.Get(t, "/operator/system")
		if !strings.Contains(body, "has raised the margin by 2 years") {
			t.Error("another page of the operator has no notice")
		}
		_, body = op.Get(t, "/operator/drift/lower")
		if !strings.Contains(body, "from 9 to 7 years") {
			t.Error("the question does not say what changes")
		}
		if g.App.Drift.Raised() != 2 {
			t.Error("asking has changed the margin")
		}
		res, _ = op.Fill(t, "/operator/drift/lower", nil)
		want(t, "lower", res, 303, "/operator/drift")
		if g.App.Drift.Raised() != 0 {
			t.Error("the margin is still raised")
		}
		entry := newest(t, g, audit.Instance)
		if entry.Action != audit.DriftLower || entry.Actor.Kind != audit.KindOperator {
			t.Errorf("%+v", entry)
		}
		shows(`data-testid="drift-usual"`, true)
	}, "AGEGATE_DRIFT_STEP=2")
}

func TestDriftIsOffByDefault(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		_, body := operating(t, g).Get(t, "/operator/drift")
		if g.App.Drift != nil || !strings.Contains(body, `data-testid="drift-off"`) ||
			!strings.Contains(body, "AGEGATE_DRIFT_STEP") {
			t.Error("the page does not say that the governor is off, and how to turn it on")
		}
	})
}
