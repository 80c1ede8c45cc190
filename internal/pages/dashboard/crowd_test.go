package dashboard_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/insight"
	"agegate/internal/gatewaytest"
	"agegate/internal/pages/dashboard"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// crowd is a gateway with some rows of everything that its pages list. All texts
// that people can enter are text(0), text(1) and so on.
type crowd struct {
	*gatewaytest.Gateway
	rows    int
	shop    tenant.Credentials
	owner   *gatewaytest.Staff
	console *gatewaytest.Staff // an operator
	objects map[string]string  // values for the parameters of routes, by the end of the pattern
	text    func(i int) string
}

func newCrowd(t *testing.T, rows int, text func(i int) string) *crowd {
	t.Helper()
	var gone atomic.Bool
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if gone.Load() {
			w.WriteHeader(http.StatusGone)
			return
		}
		w.Header().Set("X-Answer", text(1))
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(text(2) + text(3)))
	}))
	t.Cleanup(receiver.Close)
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_TEST_DAILY_CAP=-1", "AGEGATE_WEBHOOK_RETRY_TEST=1h")
	c := &crowd{Gateway: g, rows: rows, text: text, objects: map[string]string{},
		shop: g.Shop(t, receiver.URL, func(s *tenant.Tenant) { s.Name = text(0) })}
	c.owner, c.console = g.SignIn(t, false, account.ByPasskey), g.SignIn(t, true, account.ByPasskey)
	g.Join(t, c.owner, c.shop.Tenant.ID, account.Owner)
	c.fillSessions(t, &gone)
	c.fillTeam(t)
	c.fillDevelopers(t)
	c.fillInstance(t)
	c.rename(t)
	// No page asks for a confirmation.
	g.Exec(t, "UPDATE logins SET stepped_up_until = '2099-01-01 00:00:00+00:00'")
	return c
}

func (c *crowd) at(path string) string { return "/dashboard/" + c.shop.Tenant.ID.String() + path }

// fillSessions creates a session whose webhook fails, one with a disabled
// endpoint, and copies of the first.
func (c *crowd) fillSessions(t *testing.T, gone *atomic.Bool) {
	t.Helper()
	verified := func() string {
		made := c.Create(t, c.shop.Test.APIKey, 18)
		c.Force(t, gatewaytest.Browser(), made, "verified")
		return made.SessionID
	}
	first := verified()
	gatewaytest.WaitFor(t, "the delivery to fail", func() bool {
		_, page := c.owner.Get(t, c.at("/test/webhooks"))
		return strings.Contains(page, "<code>500</code>")
	})
	gone.Store(true)
	c.objects["/sessions/:session"] = verified()
	gatewaytest.WaitFor(t, "the endpoint to be disabled", func() bool {
		_, page := c.owner.Get(t, c.at("/test/webhooks"))
		_, after, found := strings.Cut(page, "/webhooks/endpoints/")
		c.objects["/endpoints/:endpoint"], _, _ = strings.Cut(after, "/")
		_, after, _ = strings.Cut(page, "/webhooks/events/")
		c.objects["/events/:event"], _, _ = strings.Cut(after, `"`)
		return found
	})
	res, _ := c.owner.Fill(t, c.at("/test/playground"), url.Values{"target_age": {"18"}})
	c.objects["/playground/:session"] = res.Header.Get("Location")[strings.LastIndex(res.Header.Get("Location"), "/")+1:]
	c.copies(t, "sessions", "id = '"+first+"'", func(i int, id string) string {
		return fmt.Sprintf("id = '%s', link_hash = randomblob(32)", id)
	})
	c.copies(t, "webhook_events", "session_id = '"+first+"'", func(i int, id string) string {
		return fmt.Sprintf("id = 'evt_%s', session_id = '%s'", id, id)
	})
	fillLedger(t, &staffed{Gateway: c.Gateway, shop: c.shop}, 2*c.rows)
}

// copies adds copies of a row, each changed by change to have its own ID.
func (c *crowd) copies(t *testing.T, table, where string, change func(i int, id string) string) {
	t.Helper()
	statements := []string{"CREATE TEMP TABLE copied AS SELECT * FROM " + table + " WHERE " + where}
	for i := range c.rows {
		set := change(i, uuid.Must(uuid.NewV7()).String())
		statements = append(statements, "UPDATE copied SET "+set, "INSERT INTO "+table+" SELECT * FROM copied")
	}
	c.Exec(t, "BEGIN; "+strings.Join(append(statements, "COMMIT"), "; "))
}

// fillTeam creates members, invitations, and the data of the owner's own account.
func (c *crowd) fillTeam(t *testing.T) {
	t.Helper()
	now, last := c.Clock.Now(), uuid.Nil
	c.accounts(t, func(tx account.Tx) error {
		for i := range c.rows {
			last = uuid.Must(uuid.NewV7())
			err := errors.Join(
				tx.InsertUser(account.User{ID: last, Name: c.text(i), Email: fmt.Sprint(c.text(i), i), CreatedAt: now}),
				tx.InsertMembership(account.Membership{
					TenantID: c.shop.Tenant.ID, UserID: last,
					Role: []account.Role{account.Viewer, account.Developer, account.Owner}[i%3], CreatedAt: now,
				}),
				tx.InsertLink(account.Link{
					Hash: credential.HashToken(fmt.Sprint("invitation ", i)), Kind: account.LinkInvitation,
					TenantID: &c.shop.Tenant.ID,
					Role:     account.Viewer, CreatedBy: &last, CreatedAt: now, ExpiresAt: now.Add(time.Hour),
				}))
			if err != nil {
				return err
			}
		}
		return nil
	})
	c.objects["/team/:user"] = last.String()
	c.objects["/users/:user"] = last.String()
	key := account.Passkey{UserID: c.owner.User.ID, PublicKey: []byte("key"), AAGUID: make([]byte, 16), CreatedAt: now}
	for i := range 5 {
		key.ID, key.CredentialID, key.Name = uuid.Must(uuid.NewV7()), fmt.Append(nil, i), c.text(i)
		c.accounts(t, func(tx account.Tx) error { return tx.InsertPasskey(key) })
	}
	c.objects["/passkeys/:id"] = key.ID.String()
	_, page := c.owner.Get(t, c.at("/team"))
	c.objects["/invitations/:id"], _, _ = strings.Cut(between(t, page, c.at("/team/invitations/"), `"`), "/")
	link, err := c.App.Accounts.NewRecoveryLink(t.Context(), audit.System("test"), last)
	if err != nil {
		t.Fatal(err)
	}
	token := link[strings.LastIndex(link, "/")+1:]
	c.objects["/link/:token"], c.objects["/links/:id"] = token, account.Link{Hash: credential.HashToken(token)}.ID()
}

func (c *crowd) accounts(t *testing.T, fn func(tx account.Tx) error) {
	t.Helper()
	if err := c.App.Store.UpdateAccounts(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// fillDevelopers creates keys, secrets, refusals and a log with every kind of
// act.
func (c *crowd) fillDevelopers(t *testing.T) {
	t.Helper()
	id, by := c.shop.Tenant.ID, audit.User(c.owner.User.ID, c.text(4))
	c.copies(t, "api_keys", "tenant_id = '"+id.String()+"' AND NOT livemode", func(i int, key string) string {
		c.objects["/keys/:key"] = key
		return fmt.Sprintf("id = '%s', hash = randomblob(32), name = '%s'", key, quoted(c.text(i)))
	})
	if _, err := c.App.Tenants.StageRedirectSecret(t.Context(), by, id, false); err != nil {
		t.Fatal(err)
	}
	if _, err := c.App.Tenants.RotateWebhookSecret(t.Context(), by, id, false, time.Hour); err != nil {
		t.Fatal(err)
	}
	scope := insight.Scope{TenantID: id}
	var refusals []insight.RefusalCount
	for i := range c.rows {
		refusals = append(refusals, insight.RefusalCount{
			Refusal: insight.Refusal{Scope: scope, Route: "POST " + c.text(i), Status: 422, Type: c.text(i + 1),
				Loc: c.text(i + 2)},
			Minute: c.Clock.Now(), N: int64(i) + 1, RequestID: c.text(i + 3),
		})
	}
	if err := c.App.Store.AddRefusals(t.Context(), scope, refusals, 2*c.rows); err != nil {
		t.Fatal(err)
	}
	var acts []audit.Act
	for i, action := range audit.Actions() {
		for _, scope := range []audit.Scope{audit.OfTenant(id), audit.Instance} {
			params := map[string]string{}
			for _, name := range []string{"reason", "note", "name", "email", "role", "host", "mode", "kind", "last_four",
				"units", "session", "event", "endpoint"} {
				params[name] = c.text(i)
			}
			act := audit.Act{
				Scope: scope, At: c.Clock.Now(), Actor: by, Action: action, Target: c.text(i + 1),
				Detail: audit.Detail{Params: params,
					Changes: []audit.Change{{Setting: "name", Old: c.text(i + 2), New: c.text(i + 3)},
						{Setting: c.text(i), New: c.text(i)}}},
			}
			acts = append(acts, act)
		}
	}
	c.accounts(t, func(tx account.Tx) error {
		for _, act := range acts {
			if err := tx.AppendAudit(act); err != nil {
				return err
			}
		}
		return nil
	})
}

// fillInstance creates what operators see: tenants and replicas.
func (c *crowd) fillInstance(t *testing.T) {
	t.Helper()
	c.copies(t, "tenants", "id = '"+c.shop.Tenant.ID.String()+"'", func(i int, id string) string {
		c.objects["/tenants/:id"] = id
		return fmt.Sprintf("id = '%s', name = '%s'", id, quoted(c.text(i)))
	})
	for i := range 4 {
		now := c.Clock.Now()
		err := c.App.Store.PutReplica(t.Context(), insight.Replica{
			ID: uuid.Must(uuid.NewV7()), StartedAt: now, SeenAt: now, Version: c.text(i), Models: c.text(i + 1),
			Calibration: c.text(i + 2), Config: c.text(i + 3),
		}, now.Add(-time.Hour))
		if err != nil {
			t.Fatal(err)
		}
	}
}

// rename writes texts that the rules of the forms would refuse, because the pages
// must not rely on these rules.
func (c *crowd) rename(t *testing.T) {
	t.Helper()
	of := func(table string, columns ...string) {
		var set []string
		for i, column := range columns {
			set = append(set, column+" = '"+quoted(c.text(i))+"'")
		}
		where := " WHERE tenant_id = '" + c.shop.Tenant.ID.String() + "'"
		if table == "tenants" {
			where = strings.Replace(where, "tenant_id", "id", 1)
		}
		c.Exec(t, "UPDATE "+table+" SET "+strings.Join(set, ", ")+where)
	}
	of("tenants", "success_url", "cancel_url", "webhook_url", "privacy_url", "help_url", "terms_url", "review_url")
	of("sessions", "success_url", "cancel_url", "webhook_url", "calibration")
	of("webhook_events", "destination")
	of("webhook_endpoints", "url")
	c.Exec(t, fmt.Sprintf("INSERT INTO brands (tenant_id, name) VALUES ('%s', '%s')", c.shop.Tenant.ID, quoted(c.text(5))))
	for i, s := range []*gatewaytest.Staff{c.owner, c.console} {
		c.Exec(t, fmt.Sprintf("UPDATE users SET name = '%s', email = '%s' WHERE id = '%s'", quoted(c.text(6+i)),
			quoted(c.text(8+i)), s.User.ID))
	}
}

func quoted(text string) string { return strings.ReplaceAll(text, "'", "''") }

// crowdPage is a page of the crowd, with those who may see it.
type crowdPage struct {
	dashboard.Row
	path string
	by   *gatewaytest.Staff
}

// pages returns every page of the route table with an object that exists. It
// fails the test for a route with a parameter for which the crowd has no value.
func (c *crowd) pages(t *testing.T) (pages []crowdPage) {
	t.Helper()
	rows, err := dashboard.Table()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row.Method != http.MethodGet {
			continue
		}
		p := crowdPage{Row: row, path: row.Path, by: c.owner}
		switch row.MinRole {
		case "operator":
			p.by = c.console
		case "anyone":
			p.by = c.Nobody()
		}
		for end, id := range c.objects {
			if before, after, found := strings.Cut(p.path, end); found && (after == "" || after[0] == '/') {
				p.path = before + end[:strings.LastIndex(end, ":")] + id + after
			}
		}
		p.path = strings.NewReplacer(":tenant", c.shop.Tenant.ID.String(), ":mode", "test", ":file",
			"0a7d33.png", ":scheme", "dark").Replace(p.path)
		if strings.Contains(p.path, ":") {
			t.Errorf("the crowd has nothing for %s", row.Path)
			continue
		}
		pages = append(pages, p)
	}
	return pages
}
