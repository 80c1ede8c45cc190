package dashboard_test

import (
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/insight"
	"agegate/internal/check/age/curve"
	"agegate/internal/gatewaytest"
	"agegate/internal/pages/dashboard"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/session"
)

// labCurve has ten pictures of each age from 5 to 70, estimated at their age and
// up to nine years more.
func labCurve() *curve.Curve {
	c := &curve.Curve{Format: curve.Format, Name: "Utopians <b>", Estimator: "cafe",
		MadeAt: time.Unix(1767225600, 0).UTC()}
	for years := 5; years <= 70; years++ {
		a := curve.Age{Years: years}
		for more := range 10 {
			a.Add(float64(years + more))
		}
		c.Ages = append(c.Ages, a)
	}
	return c
}

// TestLab covers the figures of a known curve, the counts of live sessions, and
// what cannot be read.
func TestLab(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op, shop := operating(t, g), g.Shop(t, "", nil)
		hour := g.Clock.Now().Add(-48*time.Hour).Unix() / 3600
		for i, of := range []insight.Group{
			{TargetAge: 18, Livemode: true, Status: session.StatusPassed, Source: session.SourceCamera,
				Tally: insight.Tally{N: 1500}},
			{TargetAge: 18, Livemode: true, Status: session.StatusFallback, Source: session.SourceCamera,
				Tally: insight.Tally{N: 400}},
			{TargetAge: 18, Livemode: true, Status: session.StatusPassed, Source: session.SourceDocument,
				Tally: insight.Tally{N: 75}},
			{TargetAge: 18, Livemode: true, Status: session.StatusSpoof, Source: session.SourceCamera,
				Tally: insight.Tally{N: 25}},
			{TargetAge: 18, Livemode: true, Status: session.StatusExpired, Tally: insight.Tally{N: 9999}},
			{TargetAge: 18, Status: session.StatusPassed, Source: session.SourceCamera, Tally: insight.Tally{N: 9999}},
			{TargetAge: 18, Status: session.StatusPassed, Source: session.SourceForced, Tally: insight.Tally{N: 9999}},
		} {
			of.Hour = hour + int64(i)
			upto := int64(0)
			if i > 0 {
				upto = of.Hour
			}
			if ok, err := g.App.Store.FoldSessions(t.Context(), shop.Tenant.ID, upto, of.Hour,
				[]insight.Group{of}); err != nil || !ok {
				t.Fatalf("%t, %v", ok, err)
			}
		}
		handler, err := dashboard.Handler(dashboard.Config{
			Accounts: g.App.Accounts, Tenants: g.App.Tenants, Insight: g.App.Insight, URL: "http://localhost:8080",
			Now: g.Clock.Now, Drift: g.App.Drift,
			Lab: dashboard.Lab{Curve: labCurve(), Margin: 7.5},
		})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(handler)
		defer server.Close()
		there := op.At(server.URL)
		for query, texts := range map[string][]string{
			// Two of the pictures aged 17, estimated at 17 to 26, are at least
			// 25; of those aged 16, one: 3 of 50. Of 25 to 35, all.
			"": {
				"6.0\u202f%", "3 of 50 pictures", "2.1 to 16.2\u202f%", "110 of 110 pictures", "AGEGATE_AGE_MARGIN=7<",
				"margin of 7.5 years",
				// Of those of 13 to 17, one year less and more.
				">12.0\u202f%</td><td class=\"number\" data-label=\"Chosen\">6.0\u202f%<",
				"data-label=\"One year more\">2.0\u202f%<",
				"8 is the smallest margin with which at most 5\u202f% of those aged 13 to 17 pass", "Utopians &lt;b&gt;",
			},
			"?target=18&margin=0": {"AGEGATE_AGE_MARGIN=0<", "35 of 50 pictures"},
			"?target=60&margin=20": {
				"AGEGATE_AGE_MARGIN=20<", "0.0\u202f%",
			},
		} {
			res, body := there.Get(t, "/operator/lab"+query)
			want(t, query, res, 200, "")
			for _, text := range texts {
				if !strings.Contains(body, text) {
					t.Errorf("%q: the page has no %q", query, text)
				}
			}
			// For each of five target ages, three ranges of ages.
			years := regexp.MustCompile(`(?s)data-testid="years".*?</table>`).FindString(body)
			if rows := strings.Count(years, "<tr><td"); rows != 15 {
				t.Errorf("%q: %d rows about a year more or less, want 15", query, rows)
			}
			seen := regexp.MustCompile(`(?s)data-testid="seen".*`).FindString(body)
			for _, text := range []string{">2\u202f000<", ">475<", "23.8\u202f%", ">25<"} {
				if !strings.Contains(seen, text) {
					t.Errorf("%q: seen has no %q", query, text)
				}
			}
		}
		if _, body := there.Send(t, "GET", "/operator/lab", nil,
			map[string]string{"Accept-Language": "de"}); !strings.Contains(body, "2,1 bis 16,2\u202f%") {
			t.Error("German has no decimal comma")
		}
		for query, problem := range map[string]string{
			"?target=12": "from 13 to 60", "?target=61": "from 13 to 60", "?target=x": "from 13 to 60",
			"?target=%3Cb%3E": "&lt;b&gt;",
			"?margin=-1":      "from 0 to 20", "?margin=21": "from 0 to 20", "?margin=7.5": "from 0 to 20",
		} {
			res, body := there.Get(t, "/operator/lab"+query)
			if want(t, query, res, 422, ""); !strings.Contains(body, problem) {
				t.Errorf("%s: the page does not say %q", query, problem)
			}
		}
		// The gateway of these tests has no estimator.
		if _, body := op.Get(t, "/operator/lab"); !strings.Contains(body, "The estimator is off") ||
			!strings.Contains(body, "23.8\u202f%") {
			t.Error("without an estimator the page does not say so, or not what was seen")
		}
	})
}

// TestInstanceExport: operators get the whole log of the instance, which
// verifies, but only with a recent confirmation.
func TestInstanceExport(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op, late := operating(t, g), g.SignIn(t, true)
		owner := member(t, g, g.Shop(t, "", nil).Tenant.ID, "owner")
		res, _ := op.Fill(t, "/operator/users/"+owner.User.ID.String()+"/disable", url.Values{"reason": {"left"}})
		if res.StatusCode != 303 {
			t.Fatalf("disable: %d", res.StatusCode)
		}
		res, lines := op.Get(t, "/operator/audit/export")
		want(t, "export", res, 200, "")
		scope, head, err := audit.VerifyExport(strings.NewReader(lines))
		if err != nil || scope != audit.Instance || head.Seq < 1 ||
			!strings.Contains(res.Header.Get("Content-Disposition"), "instance-audit-") {
			t.Errorf("the export has %d entries of %s, %v", head.Seq, scope, err)
		}
		if _, body := op.Get(t, "/operator/audit"); !strings.Contains(body, `href="/operator/audit/export"`) {
			t.Error("the page does not lead to the export")
		}
		if res, _ := late.Get(t, "/operator/audit/export"); res.StatusCode == 200 {
			t.Error("the log is exported without a fresh confirmation")
		}
	})
}
