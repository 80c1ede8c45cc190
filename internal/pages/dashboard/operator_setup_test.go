package dashboard_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/insight"
	"agegate/internal/gatewaytest"
	"agegate/internal/pages/dashboard"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

// TestOptionalSetup: what is optional keeps no checklist open.
func TestOptionalSetup(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), append(slices.Clone(wellSet), "AGEGATE_RETENTION=90d",
		"AGEGATE_DASHBOARD_URL=https://dashboard.gateway.example")...)
	op := operating(t, g)
	shows(t, op, "set", "optional", "mail", "metrics")
	g.Shop(t, "", nil)
	g.Exec(t, "UPDATE users SET totp_sealed = 'x'")
	if err := g.App.Store.RecordBackup(t.Context(), g.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	g.Clock.Advance(4 * time.Second) // then what was mended is known
	_, body := op.Get(t, "/operator/system?lang=en")
	if strings.Contains(body, `data-testid="setup"`) {
		t.Error("a mail server and metrics count as undone")
	}
}

// TestAMailServerCountsOnceItTakesMails: a server that is set counts as done only while no mail waits for it.
func TestAMailServerCountsOnceItTakesMails(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	for _, row := range []struct{ finding, list string }{{"disk", "done"}, {"mails", "optional"}} {
		base, _ := reported(t, g, dashboard.Health{Mail: true, Findings: []dashboard.Finding{{Name: row.finding}}}, nil)
		_, body := operating(t, g).At(base).Get(t, "/operator/system")
		if !strings.Contains(body, `data-testid="`+row.list+`-mail"`) {
			t.Errorf("with %s, the mail server is not in the list %s", row.finding, row.list)
		}
	}
}

// TestCommandsSayWithWhatTheyRun: beside the commands to copy stands, once, how they get the gateway's variables.
func TestCommandsSayWithWhatTheyRun(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), wellSet...)
	shop := g.Shop(t, "", nil).Tenant.ID
	if _, body := operating(t, g).Get(t, operatedAt(shop)); strings.Contains(body, `data-testid="evidence"`) {
		t.Error("a new tenant's page offers evidence of days before it")
	}
	g.Clock.Advance(48 * time.Hour)
	op := operating(t, g)
	for path, part := range map[string]string{"/operator/system": "doctor", operatedAt(shop): "evidence"} {
		_, body := op.Get(t, path+"?lang=en")
		if !strings.Contains(between(t, body, `data-testid="`+part+`"`, "</div>"),
			"with the package or Compose, <code>ag</code>") {
			t.Errorf("%s does not say how to run the command", path)
		}
		if n := strings.Count(body, "with the package or Compose, <code>ag</code>"); n != 1 {
			t.Errorf("%s says how to run commands %d times", path, n)
		}
	}
}

// TestRetentionIsShown: the page System says how long sessions are kept, and by which variable.
func TestRetentionIsShown(t *testing.T) {
	for setting, says := range map[string]string{
		"":                      "are kept until somebody deletes them: <code>AGEGATE_RETENTION</code> sets",
		"AGEGATE_RETENTION=90d": "Finished sessions go 90 days after their creation (<code>AGEGATE_RETENTION</code>)",
	} {
		g := gatewaytest.Start(t, gatewaytest.SQLite(t), append(slices.Clone(wellSet), strings.Fields(setting)...)...)
		_, body := operating(t, g).Get(t, "/operator/system?lang=en")
		if kept := between(t, body, `data-testid="kept"`, "</p>"); !strings.Contains(kept, says) ||
			!strings.Contains(kept, fmt.Sprintf(" %d days", int(webhook.Retention.Hours()/24))) {
			t.Errorf("%q: %s", setting, kept)
		}
	}
}

// TestFailingWebhooksLeadToTheirTenants: the problem names each tenant of a live endpoint that fails once, and the
// list of tenants shows the state of one that is retried or of test mode.
func TestFailingWebhooksLeadToTheirTenants(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), wellSet...)
	op := operating(t, g)
	shops := map[string]uuid.UUID{}
	for name, hour := range map[string]int{"Failing": 2, "Retried": 0, "Tested": 2} {
		shop := g.Shop(t, "https://hooks.example/x", func(t *tenant.Tenant) { t.Name = name })
		shops[name] = shop.Tenant.ID
		fails(t, g, shop.Tenant, name != "Tested", g.Clock.Now().Add(-time.Duration(hour)*time.Hour))
	}
	_, body := op.Get(t, "/operator/system?lang=en")
	said := between(t, body, `data-testid="finding-webhooks"`, "</li>")
	if !strings.Contains(said, `href="`+operatedAt(shops["Failing"])+`"`) ||
		strings.Count(said, operatedAt(uuid.Nil)[:17]) != 1 {
		t.Errorf("the finding leads to %s", said)
	}
	_, list := op.Get(t, "/operator?lang=en")
	tags := regexp.MustCompile(`<[^>]*>`)
	for name, state := range map[string]string{"Failing": "Webhooks fail", "Retried": "Webhooks (Live) Retrying",
		"Tested": "Webhooks (Test) Failing"} {
		_, row, _ := strings.Cut(list, `href="`+operatedAt(shops[name])+`"`)
		row, _, _ = strings.Cut(row, "</tr>")
		if row = strings.Join(strings.Fields(tags.ReplaceAllString(row, " ")), " "); !strings.Contains(row, state) {
			t.Errorf("%s: the list says %q", name, row)
		}
	}
}

// TestAKilledReplicaIsSaidToBe: a replica that missed a report is marked, and is not compared with the others.
func TestAKilledReplicaIsSaidToBe(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	op := operating(t, g)
	base, _ := reported(t, g, dashboard.Health{}, nil)
	g.Exec(t, "DELETE FROM replicas")
	for version, age := range map[string]time.Duration{"v1": 80 * time.Second, "v2": 20 * time.Second} {
		if err := g.App.Store.PutReplica(t.Context(), insight.Replica{ID: uuid.New(), Version: version,
			StartedAt: g.Clock.Now().Add(-time.Hour), SeenAt: g.Clock.Now().Add(-age)}, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	_, body := op.At(base).Get(t, "/operator/system?lang=en")
	if n := strings.Count(body, ">does not report<"); n != 1 || strings.Contains(body, `data-testid="drift"`) {
		t.Errorf("%d replicas are marked, of one that was killed beside a newer one", n)
	}
}
