package dashboard_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/pages/dashboard"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/brand"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// TestEveryActionHasAText: every action has a text, and so does every setting
// that an entry can name. The catalogues' own check covers all languages.
func TestEveryActionHasAText(t *testing.T) {
	var keys []string
	for _, a := range audit.Actions() {
		keys = append(keys, "audit.action."+string(a))
	}
	one, other := int64(1), tenant.Tenant{
		Name: "x", SuccessURL: "https://a.example", CancelURL: "https://a.example", WebhookURL: "https://a.example",
		DocumentCheck: true, AgeVisibility: true,
		Languages: []string{"de"}, DocumentWays: []string{"photo"},
		Links: tenant.Links{PrivacyURL: "https://a.example", HelpURL: "https://a.example", TermsURL: "https://a.example"},
	}
	other.FreeChecks, other.AlertBelow = &one, &one
	changes := tenant.Settings{}.ChangesTo(tenant.Settings{Tenant: other,
		Brand: brand.Brand{Name: "x", Colour: "000000", LogoHash: "x"}})
	if len(changes) != 16 {
		t.Errorf("%d settings: is one without a value here?", len(changes))
	}
	for _, c := range changes {
		keys = append(keys, "audit.detail."+c.Setting)
	}
	for _, kind := range []audit.Kind{audit.KindUser, audit.KindOperator, audit.KindCLI, audit.KindSystem} {
		keys = append(keys, "audit.by."+string(kind))
	}
	for _, kind := range []billing.EntryKind{billing.EntryHold, billing.EntryRelease, billing.EntrySettle} {
		keys = append(keys, "ledger."+string(kind)+".free", "ledger."+string(kind)+".credit")
	}
	keys = append(keys, "ledger.top_up.credit")
	for _, name := range []string{"host_gone", "host_new", "refused", "refused_more", "webhook", "open", "local",
		"private", "unknown", "plain"} {
		keys = append(keys, "urls.effect."+name)
	}
	missing, err := dashboard.Missing(keys)
	if err != nil || len(missing) > 0 {
		t.Errorf("there are no texts %v (%v)", missing, err)
	}
}

// TestAuditLogNamesWhatItIsAbout: an entry names the person or the key, and
// who accepted an invitation. Of other IDs it shows the end, and no row has a whole one.
func TestAuditLogNamesWhatItIsAbout(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newStaffed(t, g, nil)
		actor := audit.Actor{Kind: audit.KindCLI, ID: "0", Name: "root"}
		key, _, err := g.App.Tenants.CreateKey(t.Context(), actor, o.shop.Tenant.ID, true, "Shop server")
		if err != nil {
			t.Fatal(err)
		}
		_, body := o.owner.Fill(t, o.at(invitePath), url.Values{"role": {"support"}})
		link := between(t, between(t, body, `class="shown"`, "</section>"), "<code>", "</code>")
		g.Nobody().Post(t, strings.TrimPrefix(link, "http://localhost:8080"), person("bob"))
		o.owner.Fill(t, o.at(invitePath), url.Values{"role": {"developer"}})
		made := g.Create(t, o.shop.Test.APIKey, 18)
		if res, _ := o.developer.Fill(t, o.at("/test/sessions/"+made.SessionID+"/expire"), nil); res.StatusCode != 303 {
			t.Fatalf("expire: %d", res.StatusCode)
		}
		former := g.SignIn(t, false)
		g.Join(t, former, o.shop.Tenant.ID, account.Viewer)
		if res, _ := o.owner.Fill(t, o.at("/team/"+former.User.ID.String()+"/remove"), nil); res.StatusCode != 303 {
			t.Fatalf("remove: %d", res.StatusCode)
		}
		_, body = o.developer.Get(t, o.at("/audit?lang=en"))
		rows := strings.Split(body, "<tr>")
		tags := regexp.MustCompile(`<[^>]*>`)
		for _, tt := range []struct{ action, says string }{
			{"API key created", "API key created Shop server …" + key.LastFour + " Mode: Live"},
			{"Member joined", "Member joined bob Role: Support"},
			{"Invitation created", "Role: Developer"}, // the newer one, which nobody has used
			{"Test session expired by hand", "Test session expired by hand …" + made.SessionID[28:]},
			{"Member removed", "Member removed " + former.User.Name},
		} {
			i := slices.IndexFunc(rows, func(row string) bool { return strings.Contains(row, "<strong>"+tt.action+"</strong>") })
			if i < 0 {
				t.Errorf("no row %s", tt.action)
				continue
			}
			text := strings.Join(strings.Fields(tags.ReplaceAllString(rows[i], " ")), " ")
			if !strings.Contains(strings.ReplaceAll(text, " :", ":"), tt.says) {
				t.Errorf("%s: %s, want %s", tt.action, text, tt.says)
			}
			if regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-|[0-9a-f]{32}`).MatchString(text) {
				t.Errorf("%s has a whole ID: %s", tt.action, text)
			}
		}
		if strings.Count(body, "Accepted by:") != 1 || !strings.Contains(body, "Accepted by:</span> bob") {
			t.Error("the log does not say who accepted which invitation")
		}
		if strings.Contains(body, "@") {
			t.Error("the log has an e-mail address")
		}
	})
}

// TestAuditValuesAreSaidAsPeopleDo: times, lengths of time, limits and lists are no raw values, and what somebody
// wrote stays as it is.
func TestAuditValuesAreSaidAsPeopleDo(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	o := newStaffed(t, g, nil)
	if err := g.App.Store.AppendAct(t.Context(), audit.Act{
		Scope: audit.OfTenant(o.shop.Tenant.ID), At: g.Clock.Now(), Actor: audit.System("test"), Action: audit.TenantUpdate,
		Detail: audit.Detail{
			Params: map[string]string{"grace": "24h0m0s", "until": "2026-01-02T03:04:05Z", "reason": "true", "new_key": "k"},
			Changes: []audit.Change{{Setting: "free_checks", Old: "5", New: "-1"}, {Setting: "margins", New: "18=9 16=8"},
				{Setting: "languages", New: "de en"}, {Setting: "document_ways", New: "wallet photo"},
				{Setting: "wallet_pid", Old: "false", New: "true"}, {Setting: "name", Old: "role", New: "-1"}},
		},
	}); err != nil {
		t.Fatal(err)
	}
	_, body := o.owner.Get(t, o.at("/audit?lang=en&action="+string(audit.TenantUpdate)))
	list := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(between(t, body, `<ul class="details">`, "</ul>"), " ")
	list = strings.Join(strings.Fields(list), " ")
	for _, says := range []string{"Grace period: In 24 hours", "Until: 2026-01-02 03:04 UTC", "Reason: true",
		"Replaced by key: k", "5 becomes Unlimited", "becomes 18: 9, 16: 8", "becomes de, en",
		"becomes With a wallet or a photographed document", "Off becomes On", "role becomes -1"} {
		if !strings.Contains(list, says) {
			t.Errorf("%q is not in %s", says, list)
		}
	}
}

// TestAuditLogListsAChangeOnce: a setting that an entry names among its values and among
// its changes is one line, in both logs. A value that did not change is still listed.
func TestAuditLogListsAChangeOnce(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op, o := operating(t, g), newStaffed(t, g, nil)
		for _, scope := range []audit.Scope{audit.Instance, audit.OfTenant(o.shop.Tenant.ID)} {
			if err := g.App.Store.AppendAct(t.Context(), audit.Act{
				Scope: scope, At: g.Clock.Now(), Actor: audit.System("start"), Action: audit.GatewayConfigure,
				Detail: audit.Detail{
					Params:  map[string]string{"age_margin": "7", "estimator": "kept"},
					Changes: []audit.Change{{Setting: "age_margin", Old: "5", New: "7"}},
				},
			}); err != nil {
				t.Fatal(err)
			}
		}
		query := "?lang=en&action=" + string(audit.GatewayConfigure)
		for path, by := range map[string]*gatewaytest.Staff{"/operator/audit": op, o.at("/audit"): o.owner} {
			_, body := by.Get(t, path+query)
			if n := strings.Count(between(t, body, `<ul class="details">`, "</ul>"), "<li>"); n != 2 ||
				!strings.Contains(body, "<del>5</del>") || !strings.Contains(body, "kept") {
				t.Errorf("%s lists %d values of one change and one kept value", path, n)
			}
		}
	})
}

// TestAuditLogOfAPeriod: the log shows the entries of the last days alone, also those of one action and on its further
// pages.
func TestAuditLogOfAPeriod(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newStaffed(t, g, nil)
		for i := range 60 {
			err := g.App.Store.UpdateAccounts(t.Context(), func(tx account.Tx) error {
				return tx.AppendAudit(audit.Act{Scope: audit.OfTenant(o.shop.Tenant.ID), Actor: audit.System("test"),
					Action: audit.SessionPrune, At: g.Clock.Now().Add(-time.Duration(60-i)*12*time.Hour - time.Hour)})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for query, n := range map[string]int{"": 50, "?days=1": 2, "?days=7&action=session.prune": 13, "?days=90": 50} {
			_, body := o.developer.Get(t, o.at("/audit"+query))
			if got := strings.Count(body, "<small>#"); got != n {
				t.Errorf("%q shows %d entries, want %d", query, got, n)
			}
			if query == "?days=90" && (!strings.Contains(body, "days=90&amp;mode=test") ||
				!strings.Contains(body, `<option value="90" selected>Last 90 days`)) {
				t.Errorf("the period of the page is forgotten: %s", body)
			}
		}
		for _, wrong := range []string{"2", "-7", "x"} {
			res, _ := o.developer.Get(t, o.at("/audit?days="+wrong))
			want(t, wrong, res, 404, "")
		}
	})
}

func TestAuditLog(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newStaffed(t, g, nil)
		bob := uuid.Must(uuid.NewV7())
		rename := func(actor audit.Actor, name string) {
			t.Helper()
			if _, err := g.App.Tenants.Update(t.Context(), actor, o.shop.Tenant.ID, tenant.Changes{Name: &name}); err != nil {
				t.Fatal(err)
			}
		}
		rename(audit.User(bob, xss), xss)
		for i := range 60 {
			rename(audit.Actor{Kind: audit.KindCLI, ID: "0", Name: "root"}, fmt.Sprint("Shop ", i))
		}
		_, body := o.developer.Get(t, o.at("/audit"))
		if n := strings.Count(body, "<strong>Settings changed</strong>"); n != 50 ||
			!strings.Contains(body, "root (command line)") ||
			!strings.Contains(body, "<del>Shop 58</del>") || !strings.Contains(body, "Log intact: 62 entries") {
			t.Errorf("the newest page has %d entries", n)
		}
		if strings.Contains(body, "/audit/export") {
			t.Error("a developer is shown the export")
		}
		filter := between(t, body, `<select id="f-action"`, "</select>")
		if n := strings.Count(filter, "</option>"); n != 1+len(audit.Actions())-len(audit.Ended) ||
			strings.Contains(filter, "QA card created") {
			t.Errorf("the filter offers %d actions: %s", n, filter)
		}
		for area, word := range map[string]string{"Team": "Invitation created", "Developers": "API key rolled",
			"Users": "Passkey added", "Sessions": "Session deleted", "Billing": "Credit booked",
			"Organisation": "Tenant created", "System": "Document issuer trusted"} {
			group, _, _ := strings.Cut(between(t, filter, `<optgroup label="`+area+`">`, "</optgroup>"), "</optgroup>")
			if !strings.Contains(group, ">"+word+"</option>") {
				t.Errorf("%s is not among the actions of %s: %s", word, area, group)
			}
		}
		for query, shown := range map[string]int{
			"?before=13": 12, "?action=tenant.create": 1, "?actor=0": 50, "?actor=" + bob.String(): 1,
			"?action=tenant.create&actor=0": 0, "?actor=" + url.QueryEscape(xss): 0,
		} {
			res, body := o.developer.Get(t, o.at("/audit"+query))
			want(t, query, res, 200, "")
			if n := strings.Count(body, `<td data-label="What">`); n != shown {
				t.Errorf("%s: %d entries, want %d", query, n, shown)
			}
			if strings.Contains(body, "<script>alert") || strings.Contains(body, "<img src=x") {
				t.Errorf("%s: a name is markup", query)
			}
		}
		for _, bad := range []string{"?action=x", "?before=x", "?before=0", "?before=-1"} {
			res, _ := o.developer.Get(t, o.at("/audit"+bad))
			want(t, bad, res, 404, "")
		}

		res, lines := o.owner.Get(t, o.at("/audit/export"))
		want(t, "export", res, 200, "")
		scope, head, err := audit.VerifyExport(strings.NewReader(lines))
		if err != nil || scope != audit.OfTenant(o.shop.Tenant.ID) || head.Seq != 62 ||
			!json.Valid([]byte(strings.SplitN(lines, "\n", 2)[0])) {
			t.Errorf("the export has %d entries of %s: %v", head.Seq, scope, err)
		}
		res, _ = o.developer.Get(t, o.at("/audit/export"))
		want(t, "export by a developer", res, 403, "")
		late := g.SignIn(t, false, account.ByPasskey)
		g.Join(t, late, o.shop.Tenant.ID, account.Owner)
		if res, _ = late.Get(t, o.at("/audit/export")); res.StatusCode == 200 {
			t.Error("the log is exported without a fresh confirmation")
		}

		g.Exec(t, "UPDATE audit_entries SET actor_name = 'nobody' WHERE seq = 30 AND scope = '"+o.shop.Tenant.ID.String()+"'")
		if _, body = o.developer.Get(t, o.at("/audit")); !strings.Contains(body, "altered from entry 30 on") {
			t.Error("a changed entry is not found")
		}
		broken := o.owner.Open(t, o.at("/audit/export"))
		if _, err := io.Copy(io.Discard, broken.Body); err == nil && broken.StatusCode == http.StatusOK {
			t.Error("a broken log is exported as if it were whole")
		}
		if err := broken.Body.Close(); err != nil {
			t.Error(err)
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

// TestOperatorsActsOnTenants: the operator's log lists what operators did on all tenants,
// names the tenant, and pages through acts of one moment.
func TestOperatorsActsOnTenants(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op, shops := operating(t, g), []uuid.UUID{}
		for _, name := range []string{"Corner", "Harbour"} {
			shop := g.Shop(t, "", func(t *tenant.Tenant) { t.Name = name }).Tenant
			shops = append(shops, shop.ID)
			res, _ := op.Fill(t, operatedAt(shop.ID)+"/disable", url.Values{"reason": {"ticket of " + name}})
			want(t, "disable", res, 303, operatedAt(shop.ID))
		}
		owner := g.SignIn(t, false)
		if err := g.App.Tenants.SetDisabled(t.Context(), audit.User(owner.User.ID, "owner"), shops[0], true, "own"); err != nil {
			t.Fatal(err)
		}
		_, log := op.Get(t, "/operator/audit?lang=en")
		if strings.Contains(log, "ticket of") || !strings.Contains(log, `href="/operator/audit?on=tenants"`) {
			t.Error("the instance's log has acts on tenants, or does not lead to them")
		}
		_, body := op.Get(t, "/operator/audit?on=tenants&lang=en")
		if !strings.Contains(between(t, body, `data-testid="in-each"`, "</p>"), "agegate audit export TENANT_ID") {
			t.Error("the acts on tenants do not say where each log is exported")
		}
		for i, name := range []string{"Corner", "Harbour"} {
			if !strings.Contains(body, `<a href="`+operatedAt(shops[i])+`" data-testid="of">`+name+`</a>`) ||
				strings.Count(body, "ticket of "+name) != 1 {
				t.Errorf("the act on %s is not listed with its tenant:\n%s", name, body)
			}
		}
		if strings.Contains(body, ">own<") || strings.Contains(body, `data-testid="chain"`) ||
			strings.Contains(body, "<small>#") {
			t.Error("it lists a member's act, or a chain that it is not, or numbers of several logs")
		}
		for range 60 {
			if err := g.App.Store.AppendAct(t.Context(), audit.Act{Scope: audit.OfTenant(shops[1]), At: g.Clock.Now(),
				Actor: audit.Operator(op.User.ID, "op"), Action: audit.TenantEnter}); err != nil {
				t.Fatal(err)
			}
		}
		g.Exec(t, "UPDATE tenants SET name = 'Quay' WHERE name = 'Harbour'")
		seen, older := 0, regexp.MustCompile(`/operator/audit\?[^"]*before=[^"]*`)
		for next := "/operator/audit?on=tenants&action=tenant.enter"; next != ""; {
			_, page := op.Get(t, next)
			seen += strings.Count(page, `data-testid="of">Quay</a>`)
			next = strings.ReplaceAll(string(older.Find([]byte(page))), "&amp;", "&")
		}
		if seen != 60 {
			t.Errorf("%d of 60 acts are on the pages", seen)
		}
		if err := g.App.Tenants.Delete(t.Context(), audit.Operator(op.User.ID, "op"), shops[0]); err != nil {
			t.Fatal(err)
		}
		_, body = op.Get(t, "/operator/audit?on=tenants&action=tenant.disable&lang=en")
		if !strings.Contains(body, "Corner <code>"+shops[0].String()+"</code>") {
			t.Errorf("the act on a deleted tenant does not name it:\n%s", body)
		}
	})
}

func operatedAt(tenantID uuid.UUID) string { return "/operator/tenants/" + tenantID.String() }

// TestActsOfAKeyNameIt: what a program does with a test key is logged with the key, under the key's name.
func TestActsOfAKeyNameIt(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil)
		made := g.Create(t, shop.Test.APIKey, 18)
		g.Do(t, gatewaytest.Row{Method: "POST", Path: "/api/v1/test/sessions/" + made.SessionID + "/clock",
			Key: shop.Test.APIKey, Body: `{"expire":"session"}`, Status: 200})
		g.Exec(t, "UPDATE api_keys SET name = 'Shop backend' WHERE livemode = FALSE")
		_, body := member(t, g, shop.Tenant.ID, account.Owner).Get(t, "/dashboard/"+shop.Tenant.ID.String()+"/audit?lang=en")
		if name := "API, Shop backend …" + shop.Test.APIKey[len(shop.Test.APIKey)-4:]; !strings.Contains(body, name) {
			t.Errorf("no act is by %s", name)
		}
	})
}
