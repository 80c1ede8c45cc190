package dashboard_test

import (
	"html"
	"net/url"
	"strings"
	"testing"
	"time"

	"agegate/internal/gatewaytest"
)

// TestMarginEffect: the page shows what a margin would change before it is saved,
// on the tenant's own checks, and changes nothing by that.
func TestMarginEffect(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newStaffed(t, g, nil)
		before := len(o.log(t))
		effect := func(target, margin string) string {
			t.Helper()
			res, body := o.owner.Post(t, o.at("/settings"),
				o.filled(t, o.owner, url.Values{"target": {target}, "margin": {margin}, "effect": {"1"}}))
			want(t, "the effect", res, 200, "")
			_, panel, _ := strings.Cut(body, `data-testid="effect-panel"`)
			if !strings.Contains(panel, "at most the newest 50,000 sessions") {
				t.Error("the panel does not say how many sessions it counts at most")
			}
			return html.UnescapeString(panel)
		}
		says := func(panel string, texts ...string) {
			t.Helper()
			for _, text := range texts {
				if !strings.Contains(panel, text) {
					t.Errorf("the effect lacks %q:\n%s", text, panel)
				}
			}
		}
		_, body := o.owner.Post(t, o.at("/settings"), o.filled(t, o.owner,
			url.Values{"target": {"18"}, "margin": {"9"}, "brand_colour": {"red"}, "help_url": {"shop"}, "effect": {"1"}}))
		if !strings.Contains(body, `data-testid="effect-panel"`) || strings.Contains(body, `data-testid="summary"`) ||
			!strings.Contains(body, `value="red"`) || !strings.Contains(body, `/docs/expect"`) {
			t.Error("a fault of another field hides the effect of the margin")
		}
		if strings.Contains(body, "name=\"brand_logo_kept\"") || !strings.Contains(body, ` class="changed"`) ||
			strings.Contains(body, `/branding/preview/`) {
			t.Error("a preview shows what is saved, or a file is missed that nobody chose")
		}
		_, body = o.owner.Upload(t, o.at("/settings"), o.filled(t, o.owner, url.Values{"margin": {"9"}, "effect": {"1"}}),
			"brand_logo", []byte("a picture"))
		if !strings.Contains(body, "name=\"brand_logo_kept\"") {
			t.Error("the chosen file is lost")
		}
		says(effect("18", "9"), "9 years instead of 7", "estimate of 27 is needed instead of 25",
			"the camera decided: 0. Passed: 0.", "Fewer than 20 estimates")
		for i := range 20 {
			c := g.Create(t, o.shop.Live.APIKey, 18)
			g.Exec(t, "UPDATE sessions SET status = 'PASSED', source = 'camera', consented_at = created_at,"+
				" completed_at = created_at, cutoff = 25, detected_age = "+[]string{"26.9", "27.0"}[i%2]+
				" WHERE id = '"+c.SessionID+"'")
			if i == 18 {
				g.Clock.Advance(16 * time.Second)
				says(effect("18", "9"), "Fewer than 20 estimates")
			}
		}
		g.Clock.Advance(16 * time.Second) // figures are kept for 15 seconds
		says(effect("18", "9"), "that the camera decided: 20. Passed: 20.",
			"Of 20 estimates", "20 pass now (100%), and 10 would have passed (50%)")
		says(effect("16", "9"), "Fewer than 20 estimates")
		if len(o.tenant(t).Margins) > 0 || len(o.log(t)) != before {
			t.Error("showing the effect changed something")
		}
	})
}
