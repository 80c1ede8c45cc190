package dashboard_test

import (
	"strings"
	"testing"

	"agegate/internal/account"
	"agegate/internal/proof/harness"
)

// TestPartsOfTheOverviewFailByThemselves: what cannot be read says so in its
// place, once in the log, and the others stand.
func TestPartsOfTheOverviewFailByThemselves(t *testing.T) {
	harness.Each(t, func(t *testing.T, g *harness.Gateway) {
		shop := g.Shop(t, "", nil)
		dev := member(t, g, shop.Tenant.ID, account.Developer)
		path := "/dashboard/" + shop.Tenant.ID.String() + "/test"
		dev.Fill(t, path+"/playground", map[string][]string{"target_age": {"18"}})
		shown := map[string]string{"figures": `class="tiles"`, "recent": `data-testid="session"`, "checklist": `class="todo"`}
		for _, tt := range []struct{ part, breaks, mends string }{
			// Figures that were read are kept, so they fail first.
			{"figures", "ALTER TABLE fold_marks RENAME TO gone", "ALTER TABLE gone RENAME TO fold_marks"},
			{"recent", "ALTER TABLE sessions RENAME COLUMN strikes TO gone", "ALTER TABLE sessions RENAME COLUMN gone TO strikes"},
			{"checklist", "ALTER TABLE certifications RENAME TO gone", "ALTER TABLE gone RENAME TO certifications"},
		} {
			g.Exec(t, tt.breaks)
			before := strings.Count(g.Log.String(), "part of a page not read")
			res, body := dev.Get(t, path)
			want(t, "the overview without its "+tt.part, res, 200, "")
			if strings.Count(body, `data-testid="unread"`) != 1 {
				t.Errorf("%s: the page does not say once that a part is missing", tt.part)
			}
			for part, mark := range shown {
				if got := strings.Contains(body, mark); got != (part != tt.part) {
					t.Errorf("without its %s, the page shows its %s: %v", tt.part, part, got)
				}
			}
			logged := g.Log.String()
			if n := strings.Count(logged, "part of a page not read") - before; n != 1 || !strings.Contains(logged, "part="+tt.part) {
				t.Errorf("%s: %d lines in the log", tt.part, n)
			}
			g.Exec(t, tt.mends)
		}
		res, body := dev.Get(t, path)
		want(t, "the overview", res, 200, "")
		if strings.Contains(body, `data-testid="unread"`) {
			t.Error("a part is still missing")
		}
		res, _ = dev.Get(t, path+"?window=1y")
		want(t, "an unknown window", res, 404, "")
	})
}
