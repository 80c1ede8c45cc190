package dashboard

import (
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/pages/page"
)

// Home is the path of the dashboard's first page.
const Home = "/dashboard"

// Patterns that many features use.
const (
	homePath     = Home
	accountPath  = "/dashboard/account"
	overviewPath = "/dashboard/:tenant/:mode"
)

// navItem is a page of the navigation, with the text nav.<name>.
type navItem struct{ name, pattern, icon string }

// navGroup is a part of the navigation, with the text nav.<name> above it unless
// that is empty.
type navGroup struct {
	name  string
	items []navItem
}

var tenantNav = []navGroup{
	{"", []navItem{
		{"overview", overviewPath, "home"},
		{"sessions", sessionsPath, "people"},
	}},
	{"developers", []navItem{
		{"keys", keysPath, "key"},
		{"webhooks", webhooksPath, "send"},
		{"redirect_secret", redirectPath, "shield"},
		{"playground", playgroundPath, "play"},
		{"cards", cardsPath, "grid"},
		{"paste", pastePath, "clipboard"},
		{"refusals", refusalsPath, "stop"},
	}},
	{"organisation", []navItem{
		{"settings", settingsPath, "settings"},
		{"team", teamPath, "team"},
		{"billing", billingPath, "card"},
		{"audit", auditPath, "list"},
		{"evidence", evidencePath, "seal"},
	}},
}

var operatorNav = []navGroup{{"operator", []navItem{
	{"tenants", operatorPath, "home"},
	{"users", usersPath, "team"},
	{"system", systemPath, "settings"},
	{"lab", operatorPath + "/lab", "play"},
	{"drift", driftPath, "list"},
	{"operator_audit", operatorAuditPath, "list"},
}}}

var accountNav = []navGroup{{"", []navItem{
	{"home", homePath, "home"},
	{"account", accountPath, "team"},
}}}

// layout is the view of the frame around every page. The view of each screen
// embeds it; render fills it in.
type layout struct {
	page.Frame
	Notice  string // the key of a text, or empty
	Test    bool   // the page is in test mode
	Nav     []navGroupView
	Tenant  *tenantView // nil on pages without a tenant
	Person  string      // the signed-in user's name; may be empty
	Account string      // address of the user's account page; may be empty
	Docs    string      // address of the documentation
	Zone    string      // the IANA name of the time zone of all times
	// address of this page with the parameters that its languages keep, to which one can be added; empty: "?"
	Here     string
	Operator bool        // the user is an operator
	Until    *time.Time  // the user looks into the tenant as operator until this time
	Low      *lowBalance // the warning of a low balance, or nil
	Drifted  string      // on the operator's pages, browsers whose estimates are far from their reference, or empty
}

func (l *layout) base() *layout { return l }

// tenantView is the tenant in the frame.
type tenantView struct {
	Name       string
	Disabled   bool
	Test, Live string // addresses of this page, or of the overview, in both modes
	Mode       string // test, live, or empty on a page without a mode
}

type navGroupView struct {
	Name  string
	Items []navItemView
}

type navItemView struct {
	Name, Href, Icon string
	Current          bool
}

func (r *request) layout() layout {
	l := layout{
		Docs:   r.pages.cfg.APIURL + "/docs",
		Here:   r.here(),
		Person: r.who.User().Name, Operator: r.who.User().Operator,
		Test: r.route.hasMode() && !r.access.Livemode(), Zone: r.zone().String(),
	}
	if l.Person != "" {
		l.Account = accountPath
	}
	if r.access.ReadOnly() {
		l.Until = r.who.Login().EnteredUntil
	}
	switch {
	case r.route.hasTenant():
		l.Nav, l.Tenant, l.Low = r.nav(tenantNav), r.tenantView(), r.lowBalance()
	case r.route.minRole == operator:
		l.Nav, l.Drifted = r.nav(operatorNav), r.pages.driftNotice()
	case r.route.path == accountPath:
		l.Nav = r.nav(accountNav)
	}
	return l
}

// Failed reports whether the notice says that a log-in by a provider failed.
func (l *layout) Failed() bool { return strings.HasPrefix(l.Notice, "notice.sso_") }

// maxKeptText is the maximum length of a parameter that links keep, in bytes.
const maxKeptText = 512

// here returns a reference to the page's own address, with the parameters that
// its route keeps, to which a parameter can be appended; empty if it has none.
func (r *request) here() string {
	kept := url.Values{}
	for _, name := range r.route.kept {
		if value := r.QueryParam(name); value != "" && len(value) <= maxKeptText {
			kept.Set(name, value)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return "?" + kept.Encode() + "&"
}

func (r *request) tenantView() *tenantView {
	pattern := r.route.path
	if !r.route.hasMode() || r.route.testOnly || r.route.method != http.MethodGet || strings.Count(pattern, ":") > 2 {
		pattern = overviewPath // an object of one mode does not exist in the other
	}
	if !r.opens(pattern) {
		pattern = refusalsPath
	}
	id := r.access.TenantID().String()
	v := &tenantView{
		Name: r.tenant.Name, Disabled: r.tenant.Disabled,
		Test: fill(pattern, id, "test"), Live: fill(pattern, id, "live"),
	}
	if r.route.hasMode() {
		v.Mode = r.mode()
	}
	return v
}

// nav returns the pages that exist and that the user may open.
func (r *request) nav(groups []navGroup) []navGroupView {
	var shown []navGroupView
	for _, group := range groups {
		g := navGroupView{Name: group.name}
		for _, item := range group.items {
			route := r.pages.byPattern[item.pattern]
			if !r.opens(item.pattern) || route.testOnly && r.mode() == "live" {
				continue
			}
			href := r.path(item.pattern)
			if route.hasTenant() && !route.hasMode() {
				href = r.to(item.pattern)
			}
			g.Items = append(g.Items, navItemView{item.name, href, "icon-" + item.icon, r.within(item.pattern)})
		}
		if g.Items != nil {
			shown = append(shown, g)
		}
	}
	return shown
}

// landing returns the pattern of the first page for a member of a tenant.
func landing(role account.Role) string {
	if role.May(account.ReadSessions) {
		return overviewPath
	}
	return auditPath
}

// within reports whether the request's page is the pattern's or below it. A root
// pattern matches only itself.
func (r *request) within(pattern string) bool {
	if pattern == operatorPath && strings.HasPrefix(r.route.path, operatorPath+"/tenants/") {
		return true
	}
	if pattern == overviewPath || pattern == operatorPath || pattern == homePath {
		return r.route.path == pattern
	}
	return r.route.path == pattern || strings.HasPrefix(r.route.path, pattern+"/")
}

// fill returns a pattern's address for a tenant and a mode.
func fill(pattern, tenant, mode string) string {
	return strings.Replace(strings.Replace(pattern, ":tenant", tenant, 1), ":mode", mode, 1)
}

// composedKeys lists the texts of the frame and of the error pages whose keys
// are composed.
func composedKeys() []string {
	keys := []string{"form.missing", "form.choice", "form.unreadable"}
	for _, group := range slices.Concat(tenantNav, operatorNav, accountNav) {
		if group.name != "" {
			keys = append(keys, "nav."+group.name)
		}
		for _, item := range group.items {
			keys = append(keys, "nav."+item.name)
		}
	}
	for _, name := range failures {
		keys = append(keys, "error."+name+".title", "error."+name+".body")
	}
	return keys
}

// funcs are the template functions of the dashboard, in addition to t, texts and
// say.
var funcs = template.FuncMap{"badge": newBadge, "tile": newTile, "empty": newEmpty, "ceremony": newCeremony,
	"preview": newPreview}
