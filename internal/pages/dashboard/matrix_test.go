package dashboard_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/pages/dashboard"

	"github.com/google/uuid"
)

// memberIn says which members of the path's tenant are admitted, by the minimum
// role of a route.
var memberIn = map[string][]account.Role{
	"member":    account.Roles(),
	"reader":    {account.Viewer, account.Support, account.Developer, account.Owner},
	"viewer":    {account.Viewer, account.Developer, account.Owner},
	"refused":   {account.Viewer, account.Compliance, account.Developer, account.Owner},
	"auditor":   {account.Compliance, account.Developer, account.Owner},
	"prover":    {account.Compliance, account.Owner},
	"resender":  {account.Support, account.Developer, account.Owner},
	"developer": {account.Developer, account.Owner},
	"owner":     {account.Owner},
}

// admitted returns what an actor gets at a route: in, a missing page, a refusal,
// the log-in, or nothing for a minimum role that the matrix does not know.
func admitted(minRole, who string) string {
	roles, ofMembers := memberIn[minRole]
	if who == "operator inside" && minRole == "auditor" {
		return "in"
	}
	if who == "operator inside" && ofMembers {
		who = string(account.Viewer)
	}
	switch {
	case minRole == "anyone":
		return "in"
	case !ofMembers && minRole != "user" && minRole != "operator":
		return ""
	case who == "nobody":
		return "log-in"
	case minRole == "user":
		return "in"
	case minRole == "operator":
		if strings.HasPrefix(who, "operator") {
			return "in"
		}
		return "missing"
	case !account.Role(who).May(account.BeMember): // a foreign owner, an operator
		return "missing"
	case slices.Contains(roles, account.Role(who)):
		return "in"
	default:
		return "refused"
	}
}

var parameter = regexp.MustCompile(`:\w+`)

// fillIn returns a pattern's address, with a random ID for every other parameter.
func fillIn(pattern, tenant, mode string) string {
	return parameter.ReplaceAllStringFunc(pattern, func(name string) string {
		switch name {
		case ":tenant":
			return tenant
		case ":mode":
			return mode
		case ":token":
			return strings.Repeat("A", 43)
		}
		return uuid.NewString()
	})
}

func outcome(res *http.Response) string {
	switch {
	case res.StatusCode == http.StatusTeapot:
		return "in"
	case res.StatusCode == http.StatusNotFound:
		return "missing"
	case res.StatusCode == http.StatusForbidden:
		return "refused"
	case res.StatusCode == http.StatusSeeOther && strings.HasPrefix(res.Header.Get("Location"), "/dashboard/login"):
		return "log-in"
	}
	return res.Status
}

// admittedWeak is admitted for an owner or operator with a recent password and no
// second factor: they cannot open live mode and operators' pages and, on pages
// without a mode, neither billing nor any change of a tenant.
func admittedWeak(row dashboard.Row, mode, who string) string {
	const tenant, billing, ledger = "/dashboard/:tenant/", "/dashboard/:tenant/billing",
		"/dashboard/:tenant/billing/ledger.csv"
	shared := !strings.HasPrefix(row.Path, tenant+":mode")
	switch want := admitted(row.MinRole, who); {
	case want == "missing" || row.TestOnly && mode == "live":
		return "missing"
	case row.MinRole == "operator", mode == "live":
		return "refused"
	case !strings.HasPrefix(row.Path, tenant):
		return want
	case row.Confirmed, row.Path == billing, row.Path == ledger, shared && row.Method != http.MethodGet:
		return "refused"
	default:
		return want
	}
}

// TestMatrix tests every route × method × mode × actor at the guard. The handlers
// behind it are replaced, so that no request affects the next.
func TestMatrix(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop, foreign := g.Shop(t, "", nil), g.Shop(t, "", nil)
		gate, err := dashboard.Gate(dashboard.Config{
			Accounts: g.App.Accounts, Tenants: g.App.Tenants, URL: "http://localhost:8080", Now: g.Clock.Now,
		})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(gate)
		defer server.Close()
		actors := map[string]*gatewaytest.Staff{"nobody": g.Nobody().At(server.URL)}
		people := map[string]account.Role{"foreign owner": account.Owner, "operator": "", "operator inside": ""}
		for _, role := range account.Roles() {
			people[string(role)] = role
		}
		for who, role := range people {
			s := g.SignIn(t, role == "", account.ByPasskey)
			g.StepUp(t, s)
			if who == "operator inside" {
				s.Fill(t, "/operator/tenants/"+shop.Tenant.ID.String()+"/enter", url.Values{"reason": {"matrix"}})
			} else if role != "" {
				id := shop.Tenant.ID
				if who == "foreign owner" {
					id = foreign.Tenant.ID
				}
				g.Join(t, s, id, role)
			}
			actors[who] = s.At(server.URL)
		}
		weak := map[string]*gatewaytest.Staff{"owner": g.SignIn(t, false), "operator": g.SignIn(t, true)}
		g.Join(t, weak["owner"], shop.Tenant.ID, account.Owner)
		for who, s := range weak {
			g.StepUp(t, s)
			weak[who] = s.At(server.URL)
		}
		rows, err := dashboard.Table()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			for _, mode := range []string{"test", "live"} {
				if mode == "live" && !strings.Contains(row.Path, ":mode") {
					continue
				}
				path := fillIn(row.Path, shop.Tenant.ID.String(), mode)
				for who, s := range actors {
					want := admitted(row.MinRole, who)
					switch {
					case want == "":
						t.Fatalf("the matrix has no row for %s", row.MinRole)
					case want == "log-in":
					case row.TestOnly && mode == "live":
						want = "missing"
					case who == "operator inside" && row.Method != http.MethodGet && !row.Reads &&
						strings.Contains(row.Path, ":tenant"):
						want = "refused"
					}
					res, _ := s.Send(t, row.Method, path, url.Values{}, map[string]string{"Sec-Fetch-Site": "same-origin"})
					if got := outcome(res); got != want {
						t.Errorf("%s %s (%s) by %s: %s, want %s", row.Method, row.Path, mode, who, got, want)
					}
					if row.Method == http.MethodGet {
						res, _ := s.Send(t, http.MethodHead, path, nil, nil)
						if got := outcome(res); got != want {
							t.Errorf("HEAD %s (%s) by %s: %s, want %s", row.Path, mode, who, got, want)
						}
					}
				}
				for who, s := range weak {
					res, _ := s.Send(t, row.Method, path, url.Values{}, map[string]string{"Sec-Fetch-Site": "same-origin"})
					if got, want := outcome(res), admittedWeak(row, mode, who); got != want {
						t.Errorf("%s %s (%s) by an %s with a fresh password alone: %s, want %s", row.Method, row.Path, mode, who, got,
							want)
					}
				}
			}
		}
	})
}

// TestRolesAreDocumented: the guide to operations has a table of what each role
// may do, which matches the guard.
func TestRolesAreDocumented(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/operations/staff.md")
	if err != nil {
		t.Fatal(err)
	}
	row := func(label string, cell func(account.Role) string) string {
		line := "| " + label + " |"
		for _, role := range account.Roles() {
			line += " " + cell(role) + " |"
		}
		return line + "\n"
	}
	want := row("Act", func(role account.Role) string { return string(role) }) +
		strings.Repeat("|---", len(account.Roles())+1) + "|\n"
	for _, of := range []struct{ minRole, label string }{
		{"reader", "overview, sessions with their export, webhook events, Search"},
		{"resender", "send webhook events again"},
		{"refused", "refused calls of the API"},
		{"auditor", "audit log"},
		{"prover", "evidence packs, audit log as a file"},
		{"viewer", "read settings and billing"},
		{"developer", "keys, secrets, callback URLs, endpoints, test tools"},
		{"owner", "change settings, team, delete sessions"},
		{"member", "leave the tenant"},
	} {
		want += row(of.label, func(role account.Role) string {
			if admitted(of.minRole, string(role)) == "in" {
				return "yes"
			}
			return "–"
		})
	}
	if !strings.Contains(string(guide), want) {
		t.Errorf("docs/operations/staff.md lacks this table:\n%s", want)
	}
}

// TestTable checks the rules for every route, and that the table has every route
// that the gateway serves.
func TestTable(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	rows, err := dashboard.Table()
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, row := range rows {
		known = append(known, row.Method+" "+row.Path)
		if row.Method == http.MethodGet {
			known = append(known, http.MethodHead+" "+row.Path)
		}
		below := dashboard.Owns(row.Path) && strings.HasPrefix(row.Path, "/operator")
		if below != (row.MinRole == "operator") {
			t.Errorf("%s %s is for %s", row.Method, row.Path, row.MinRole)
		}
		if strings.HasPrefix(row.Path, "/dashboard/:tenant") && memberIn[row.MinRole] == nil {
			t.Errorf("%s %s is for %s", row.Method, row.Path, row.MinRole)
		}
		if strings.HasPrefix(row.Path, "/dashboard/:tenant") && row.Method != http.MethodGet &&
			!slices.Contains([]string{"resender", "developer", "owner"}, row.MinRole) &&
			!strings.HasSuffix(row.Path, "/paste") && !strings.HasSuffix(row.Path, "/evidence") {
			t.Errorf("%s %s: somebody who only reads changes something", row.Method, row.Path)
		}
		if strings.HasPrefix(row.Path, "/operator/") && row.Method != http.MethodGet &&
			!slices.Contains([]string{"/operator/leave", "/operator/find"}, row.Path) && !row.Confirmed {
			t.Errorf("%s %s asks for no confirmation", row.Method, row.Path)
		}
	}
	for _, route := range g.App.Routes() {
		if !dashboard.Owns(route.Path) || strings.HasPrefix(route.Path, "/dashboard/static/") {
			continue
		}
		if !slices.Contains(known, route.Method+" "+route.Path) {
			t.Errorf("%s %s is not in the table", route.Method, route.Path)
		}
	}
}

// TestPagesOpen: every page that shows no single object opens for those who may
// see it, and no page fails for an object that does not exist.
func TestPagesOpen(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil)
		owner, op := g.SignIn(t, false, account.ByPasskey), operating(t, g)
		g.Join(t, owner, shop.Tenant.ID, account.Owner)
		g.StepUp(t, owner)
		rows, err := dashboard.Table()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if row.Method != http.MethodGet {
				continue
			}
			s := owner
			if row.MinRole == "operator" {
				s = op
			}
			rest := strings.NewReplacer(":tenant", "", ":mode", "").Replace(row.Path)
			for _, mode := range []string{"test", "live"} {
				if mode == "live" && (row.TestOnly || !strings.Contains(row.Path, ":mode")) {
					continue
				}
				res, _ := s.Get(t, fillIn(row.Path, shop.Tenant.ID.String(), mode))
				if ok := res.StatusCode == 200 || res.StatusCode == 303; !ok &&
					(!strings.Contains(rest, ":") || res.StatusCode >= 500) && !strings.HasSuffix(row.Path, "/picture") {
					t.Errorf("GET %s (%s): %d", row.Path, mode, res.StatusCode)
				}
			}
		}
	}, gatewaytest.NewIDP(t).Settings("ops=operator")...)
}

// TestEveryPageIsLookedAt: proof/e2e/pages.json says which browser test looks at
// which page, at every width and in both themes. It lists every route that is
// shown, once.
func TestEveryPageIsLookedAt(t *testing.T) {
	raw, err := os.ReadFile("../../../proof/e2e/pages.json")
	if err != nil {
		t.Fatal(err)
	}
	listed, by := map[string][]string{}, map[string]string{}
	if err := json.Unmarshal(raw, &listed); err != nil {
		t.Fatal(err)
	}
	for file, pages := range listed {
		for _, page := range pages {
			if by[page] != "" {
				t.Errorf("%s is listed twice", page)
			}
			by[page] = file
		}
		if file == "not a page" {
			continue
		}
		if source, err := os.ReadFile("../../../proof/e2e/" + file); err != nil ||
			!strings.Contains(string(source), "sawItsPages(import.meta.url)") {
			t.Errorf("%s does not check that it saw its pages, %v", file, err)
		}
	}
	rows, err := dashboard.Table()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row.Method == http.MethodGet && by[row.Path] == "" {
			t.Errorf("no browser test looks at %s", row.Path)
		}
		delete(by, row.Path)
	}
	for page := range by {
		t.Errorf("%s is no page", page)
	}
}
