package dashboard_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/mail"
	"agegate/internal/check/document"
	"agegate/internal/check/document/trustlist"
	"agegate/internal/check/document/trustlist/trustlisttest"
	"agegate/internal/check/document/wallet"
	"agegate/internal/gatewaytest"
	"agegate/internal/pages/dashboard"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"
	"agegate/internal/store/pgtest"

	"github.com/google/uuid"
)

// wellSet are settings with which nothing is wrong, but a backup is still to be made.
var wellSet = []string{"AGEGATE_VERIFY_URL=https://verify.gateway.example", "AGEGATE_OPERATOR_NAME=Gate",
	"AGEGATE_ALLOW_INSECURE_CALLBACKS=false"}

// shows fails the test unless the page System shows exactly these parts of a kind:
// finding, setup or done.
func shows(t *testing.T, op *gatewaytest.Staff, when, kind string, want ...string) {
	t.Helper()
	res, body := op.Get(t, "/operator/system")
	var got []string
	for _, m := range regexp.MustCompile(`data-testid="`+kind+`-([a-z_]+)"`).FindAllStringSubmatch(body, -1) {
		got = append(got, m[1])
	}
	slices.Sort(got)
	slices.Sort(want)
	if res.StatusCode != http.StatusOK || !slices.Equal(got, want) {
		t.Errorf("%s: %d, %s %q, want %q", when, res.StatusCode, kind, got, want)
	}
	if kind == "finding" && strings.Contains(body, `data-testid="healthy"`) != (len(want) == 0) {
		t.Errorf("%s: the page does not say rightly whether all is well", when)
	}
}

// forget lets the time pass for which findings and figures are remembered.
func forget(g *gatewaytest.Gateway) { g.Clock.Advance(15 * time.Second) }

// TestHealth: each finding appears with the state that it is about, and vanishes with
// it.
func TestHealth(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		backup := func(age time.Duration) func() error {
			return func() error { return g.App.Store.RecordBackup(t.Context(), g.Clock.Now().Add(-age)) }
		}
		publisher, by := trustlisttest.NewPublisher("Publisher"), audit.System("test")
		lists := document.NewLists(g.App.Store, tenant.CallbackRule{}, nil, g.Clock.Now)
		var list document.TrustList
		sequence := 0
		publish := func(days int) func() error {
			return func() error {
				sequence++
				_, err := lists.Import(t.Context(), by, list.ID, publisher.SignXML(trustlisttest.XML{
					Sequence: sequence, Issued: g.Clock.Now(), Next: g.Clock.Now().AddDate(0, 0, days),
					Services: []trustlisttest.Service{{Provider: "Issuer", Certificate: trustlisttest.NewIssuer("Issuer")}},
				}))
				return err
			}
		}
		for _, step := range []struct {
			name string
			do   func() error
			want []string
		}{
			{"a new gateway", func() error { return nil }, nil},
			{"an old backup", backup(31 * time.Hour), []string{"old_backup"}},
			{"a backup", backup(time.Hour), nil},
			{"a list that was not imported", func() (err error) {
				list, err = lists.Add(t.Context(), by,
					document.NewList{Name: "AV", Format: trustlist.FormatAV, PEM: publisher.PEM()})
				return err
			}, []string{"list_empty"}},
			{"a file that is no list", func() error {
				if _, err := lists.Import(t.Context(), by, list.ID, nil); trustlist.ReasonOf(err) == "" {
					return fmt.Errorf("it was imported, %w", err)
				}
				return nil
			}, []string{"list_failing"}},
			{"a list", publish(60), nil},
			{"a list that ends soon", publish(13), []string{"ending"}},
			{"a list that has ended", func() error { g.Clock.Advance(14 * 24 * time.Hour); return backup(0)() },
				[]string{"list_ended"}},
			{"the next list", publish(60), nil},
			{"a mail that waits", func() error {
				made := mail.Mail{ID: uuid.New(), Kind: mail.Recovery, Sealed: []byte{1}, CreatedAt: g.Clock.Now(),
					DueAt: g.Clock.Now(), ExpiresAt: g.Clock.Now().Add(time.Hour)}
				g.Clock.Advance(3 * time.Minute)
				return g.App.Store.UpdateAccounts(t.Context(), func(tx account.Tx) error { return tx.InsertMail(made) })
			}, []string{"mails"}},
			{"a mail whose time is over", func() error { g.Clock.Advance(time.Hour); return nil }, nil},
		} {
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			forget(g)
			shows(t, operating(t, g), step.name, "finding", step.want...)
		}
	}, wellSet...)
}

// TestHealthOfSettings: what the settings lack is found, and a setting mends it.
func TestHealthOfSettings(t *testing.T) {
	for _, tt := range []struct{ setting, finding string }{
		{"AGEGATE_VERIFY_URL=http://verify.gateway.example", "https"},
		{"AGEGATE_BASE_URL=http://api.gateway.example", "https"},
		{"AGEGATE_VERIFY_URL=http://localhost:8080", ""}, // nobody can read on the way
		{"AGEGATE_AGE_MARGIN=6.5", "margin"},
		{"AGEGATE_ALLOW_INSECURE_CALLBACKS=true", "callbacks"},
	} {
		g := gatewaytest.Start(t, gatewaytest.SQLite(t), append(slices.Clone(wellSet), tt.setting)...)
		if err := g.App.Store.RecordBackup(t.Context(), g.Clock.Now()); err != nil {
			t.Fatal(err)
		}
		var want []string
		if tt.finding != "" {
			want = []string{tt.finding}
		}
		shows(t, operating(t, g), tt.setting, "finding", want...)
	}
}

// TestHealthOfAServer: what PostgreSQL says of its archive and its standbys is found.
// Tables before its own in the search path take their place.
func TestHealthOfAServer(t *testing.T) {
	database := pgtest.URL(t)
	exec := func(statement string) {
		t.Helper()
		(&gatewaytest.Gateway{DB: database}).Exec(t, statement)
	}
	exec(`CREATE TABLE public.pg_stat_archiver (last_failed_time timestamptz, last_archived_time timestamptz);
		INSERT INTO public.pg_stat_archiver VALUES (NULL, NULL);
		CREATE TABLE public.pg_stat_replication (state text, replay_lsn pg_lsn);
		CREATE FUNCTION public.pg_current_wal_lsn() RETURNS pg_lsn LANGUAGE sql AS $$ SELECT '1/0'::pg_lsn $$;
		CREATE TABLE public.rights (monitor boolean); INSERT INTO public.rights VALUES (true);
		CREATE FUNCTION public.pg_has_role(name, text) RETURNS boolean LANGUAGE sql AS 'SELECT monitor FROM public.rights';
		DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET search_path = public, pg_catalog'; END $$`)
	g := gatewaytest.Start(t, database, wellSet...)
	if err := g.App.Store.RecordBackup(t.Context(), g.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	op := operating(t, g)
	for _, step := range []struct {
		statement string
		want      []string
	}{
		{"SELECT 1", nil},
		{"UPDATE public.pg_stat_archiver SET last_failed_time = now()", []string{"archive"}},
		{"UPDATE public.pg_stat_archiver SET last_archived_time = now() + interval '1 second'", nil},
		{"INSERT INTO public.pg_stat_replication VALUES ('streaming', '1/0'), ('streaming', '0/EFFFFFFF')",
			[]string{"standby"}},
		{"UPDATE public.pg_stat_replication SET replay_lsn = '0/F0000000'", nil},
		{"UPDATE public.rights SET monitor = false", []string{"hidden"}},
		{"UPDATE public.rights SET monitor = true", nil},
	} {
		exec(step.statement)
		forget(g)
		shows(t, op, step.statement, "finding", step.want...)
	}
}

// TestHealthContradictsNothing: nothing is well so far beside webhooks of test mode that do not arrive, or
// replicas that differ.
func TestHealthContradictsNothing(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), wellSet...)
	shop := g.Shop(t, "https://hooks.example/", nil).Tenant
	base, _ := reported(t, g, dashboard.Health{}, nil)
	op := operating(t, g).At(base)
	said := func(when, lang, want, never string) {
		t.Helper()
		_, body := op.Get(t, "/operator/system?lang="+lang)
		if got := testID(t, body, "healthy"); !strings.Contains(got, want) || strings.Contains(got, never) {
			t.Errorf("%s: %s", when, got)
		}
	}
	said("well", "en", "No problems are known", "Webhooks")
	fails(t, g, shop, false, g.Clock.Now().Add(-time.Hour))
	said("a test endpoint", "en", "Webhooks of test mode do not arrive", "No problems")
	said("a test endpoint", "de", "Webhooks im Testmodus kommen nicht an", "in Ordnung")
	fails(t, g, shop, true, g.Clock.Now())
	said("a live endpoint, retried", "en", "Live webhooks did not arrive at first", "test mode")
	_, body := op.Get(t, "/operator/system?lang=en")
	if link := between(t, body, "<h2>Health</h2>", `data-testid="healthy"`); !strings.Contains(link, ">Warning</span>") ||
		!strings.Contains(link, `href="#endpoints"`) || !strings.Contains(body, `id="endpoints"`) {
		t.Error("the sentence has no mark, or leads to no list")
	}
}

// TestSetup: an item of the checklist is open until it is done, and the checklist
// vanishes with the last.
func TestSetup(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op := operating(t, g)
		shows(t, op, "new", "setup", "backup", "https", "operator_name", "retention", "second_factor", "tenant")
		shows(t, op, "new", "optional", "mail", "metrics")
		shows(t, op, "new", "done", "estimate") // the estimator is off
		if _, body := op.Get(t, "/operator/system?lang=en"); strings.HasPrefix(g.DB, "sqlite:") !=
			strings.Contains(body, " are free on the database’s disk") {
			t.Error("the page does not tell the room on the disk of a file, or of another machine")
		}
		g = g.Restart(t, append(slices.Clone(wellSet), "AGEGATE_DASHBOARD_URL=https://dashboard.gateway.example",
			"AGEGATE_SMTP_URL=smtp://127.0.0.1:1", "AGEGATE_MAIL_FROM=gate@gateway.example",
			"AGEGATE_METRICS_LISTEN=127.0.0.1:0", "AGEGATE_RETENTION=90d")...)
		op = operating(t, g)
		shows(t, op, "set", "setup", "backup", "second_factor", "tenant")
		shows(t, op, "set", "done", "estimate", "https", "mail", "metrics", "operator_name", "retention")
		g.Shop(t, "", nil)
		shows(t, op, "a tenant", "setup", "backup", "second_factor")
		g.Exec(t, "UPDATE users SET totp_sealed = 'x'")
		shows(t, op, "codes", "setup", "backup")
		if err := g.App.Store.RecordBackup(t.Context(), g.Clock.Now()); err != nil {
			t.Fatal(err)
		}
		shows(t, op, "remembered", "setup", "backup")
		forget(g)
		shows(t, op, "all", "setup")
		if _, body := op.Get(t, "/operator/system"); strings.Contains(body, `data-testid="setup"`) {
			t.Error("the checklist stays when all is done")
		}
		g.SignIn(t, true) // by a password alone
		shows(t, op, "another operator", "setup", "second_factor")
	})
}

// reported is the page System in a process that knows of some findings. It counts how
// often it is asked for them.
func reported(t *testing.T, g *gatewaytest.Gateway, health dashboard.Health, failure error) (base string, asked *int) {
	t.Helper()
	asked = new(int)
	handler, err := dashboard.Handler(dashboard.Config{
		Accounts: g.App.Accounts, Tenants: g.App.Tenants, Insight: g.App.Insight, Now: g.Clock.Now,
		URL: "http://localhost:8080", APIURL: g.URL,
		Health: func(context.Context) (dashboard.Health, error) { *asked++; return health, failure },
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL, asked
}

// TestFindingTexts: whatever can be found has its texts in both languages,
// and the documentation has every heading to which the page leads.
func TestFindingTexts(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	op := operating(t, g)
	var health dashboard.Health
	for name := range dashboard.FindingPlaces {
		health.Findings = append(health.Findings, dashboard.Finding{Name: name, Problem: len(health.Findings)%2 == 0})
	}
	base, _ := reported(t, g, health, nil)
	there := op.At(base)
	guides := map[string]string{}
	for _, lang := range []string{"en", "de"} {
		_, body := there.Get(t, "/operator/system?lang="+lang)
		if n := strings.Count(body, `data-testid="finding-`); n != len(dashboard.FindingPlaces)-3 {
			t.Errorf("%s: %d findings are shown", lang, n)
		}
		for _, name := range []string{"backup", "operator_name", "estimate"} { // the others, once
			if strings.Count(body, `data-testid="setup-`+name+`"`) != 1 {
				t.Errorf("%s: %s is not left to set up", lang, name)
			}
		}
		leads := regexp.MustCompile(`href="`+g.URL+`/docs/([a-z-]+)#([^"]*)"`).FindAllStringSubmatch(body, -1)
		if len(leads) < len(dashboard.FindingPlaces) {
			t.Errorf("%s: %d links to the documentation", lang, len(leads))
		}
		for _, lead := range leads {
			if guides[lead[1]] == "" {
				guides[lead[1]] = read(t, g.URL+"/docs/"+lead[1])
			}
			if lead[2] == "" || !strings.Contains(guides[lead[1]], `id="`+lead[2]+`"`) {
				t.Errorf("the documentation has no heading %q", lead[0])
			}
		}
	}
}

// TestTenantsTellOfFindings: the list of tenants, where operators land, counts what the page System has found, is
// silent where that is nothing, and is shown without it where it could not be read.
func TestTenantsTellOfFindings(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "https://hooks.example/", nil).Tenant
	told := func(when string, findings []string, failure error, want string) {
		t.Helper()
		var health dashboard.Health
		for _, name := range findings {
			health.Findings = append(health.Findings, dashboard.Finding{Name: name})
		}
		base, _ := reported(t, g, health, failure)
		res, body := operating(t, g).At(base).Get(t, "/operator?lang=en")
		line := `<a href="/operator/system">` + want + "</a>"
		if res.StatusCode != http.StatusOK || strings.Contains(body, `data-testid="health"`) != (want != "") ||
			want != "" && !strings.Contains(body, line) {
			t.Errorf("%s: %d, the line %q is missing or too much", when, res.StatusCode, want)
		}
	}
	told("well", nil, nil, "")
	told("still to be set up", []string{"no_backup", "retention"}, nil, "")
	told("not read", nil, errors.New("refused"), "")
	told("a warning", []string{"mails", "no_backup"}, nil, "System: 1 thing to look at")
	told("two", []string{"mails", "sso"}, nil, "System: 2 things to look at")
	fails(t, g, shop, true, g.Clock.Now())
	told("retried webhooks", nil, nil, "")
	g.Clock.Advance(time.Hour)
	told("webhooks that do not arrive", nil, nil, "System: 1 thing to look at")
}

func read(t *testing.T, address string) string {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestHealthIsReadForThePage: findings are read for the whole page and for its
// refreshed part, and both are shown without them if they cannot be read.
func TestHealthIsReadForThePage(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	op := operating(t, g)
	base, asked := reported(t, g, dashboard.Health{}, errors.New("refused"))
	for path, want := range map[string]int{"/operator/system": 1, "/operator/system?part=system": 1} {
		*asked = 0
		res, body := op.At(base).Get(t, path)
		unread := strings.Contains(body, `data-testid="unread"`)
		if res.StatusCode != http.StatusOK || *asked != want || unread != (want == 1) ||
			!strings.Contains(body, "Webhooks waiting") {
			t.Errorf("%s: %d, asked %d times", path, res.StatusCode, *asked)
		}
	}
}

// TestNoWayToPass: while nobody can pass a tenant's live checks, the page System names a problem
// and the tenant, and the tenant's overview says why.
func TestNoWayToPass(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		if err := g.App.Store.RecordBackup(t.Context(), g.Clock.Now()); err != nil {
			t.Fatal(err)
		}
		shop := g.Shop(t, "", func(t *tenant.Tenant) { t.Name = "Corner" }).Tenant
		by, off, only, ways := audit.System("test"), false, true, []string{"photo"}
		set := func(c tenant.Changes) error {
			_, err := g.App.Tenants.Update(t.Context(), by, shop.ID, c)
			return err
		}
		for _, step := range []struct {
			name, finding, why string
			do                 func() error
		}{
			{"the estimator is off", "no_way", "for one", func() error { return nil }},
			{"no issuer is trusted", "no_way", "can read none", func() error {
				return set(tenant.Changes{DocumentCheck: &only, DocumentOnly: &only})
			}},
			{"an issuer of data that the tenant does not take", "no_way", "can read none", func() error {
				return trust(t, g, wallet.DocTypePID)
			}},
			{"an issuer", "", "", func() error { return trust(t, g, wallet.DocTypeMDL) }},
			{"a way that needs the models", "no_way", "can read none", func() error {
				return set(tenant.Changes{DocumentWays: &ways})
			}},
			{"estimates again", "no_way", "for one", func() error { return set(tenant.Changes{DocumentOnly: &off}) }},
			{"disabled", "", "", func() error { return g.App.Tenants.SetDisabled(t.Context(), by, shop.ID, true, "") }},
		} {
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			forget(g)
			op, owner := operating(t, g), member(t, g, shop.ID, account.Owner)
			var findings []string
			if step.finding != "" {
				findings = []string{step.finding}
			}
			shows(t, op, step.name, "finding", findings...)
			_, system := op.Get(t, "/operator/system")
			named := `<a href="/operator/tenants/` + shop.ID.String() + `">Corner</a>`
			_, overview := owner.Get(t, "/dashboard/"+shop.ID.String()+"/test")
			_, note, told := strings.Cut(overview, `data-testid="closed"`)
			if strings.Contains(system, named) != (step.finding != "") || told != (step.why != "") ||
				told && !regexp.MustCompile(step.why).MatchString(note) {
				t.Errorf("%s: the tenant is named %t, its owner is told %t: %.300s", step.name,
					strings.Contains(system, named), told, note)
			}
			if disabled := step.name == "disabled"; disabled == strings.Contains(overview, `data-testid="make-session"`) {
				t.Errorf("%s: the button that creates a test session is shown: %t", step.name, !disabled)
			}
		}
	}, wellSet...)
}

// trust trusts an issuer of a kind of document.
func trust(t *testing.T, g *gatewaytest.Gateway, docType string) error {
	t.Helper()
	certificate := trustlisttest.NewIssuer("Utopia")
	_, err := document.NewTrust(g.App.Store, g.Clock.Now).Add(t.Context(), audit.System("test"), document.NewIssuer{
		Name: "Utopia", Country: "UT", DocType: docType, SignerUsage: document.AnySignerUsage,
		PEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}),
	})
	return err
}
