package desk

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"agegate/internal/pages/page"
)

// NavItem is a page of the navigation, with the text nav.<name>.
type NavItem struct {
	Name, Pattern, Icon string

	Alone bool   // pages below the pattern are not part of the item
	Below string // pages below this path are part of the item; empty means below the pattern
}

// NavGroup is a part of the navigation, with the text nav.<name> above it unless that is empty.
type NavGroup struct {
	Name  string
	Items []NavItem
}

// Layout is the view of the frame around every page. The view of each screen embeds it; Request.Show fills it in.
type Layout struct {
	page.Frame
	Notice *page.Text // what a change has done, or nil
	Failed bool       // the notice reports a failure
	Test   bool       // the page is in test mode
	Nav    []NavGroupView
	Tenant *TenantView // nil on pages without a tenant
	Person string      // the signed-in user's name; may be empty
	Find   string      // address of the search; empty for those who may not search
	Sought string      // words that were searched for; empty if they may be a secret
	Shops  []ShopView  // an operator's tenants: the page's, or those to which the operator's pages lead
	Docs   string      // address of the documentation
	Zone   string      // the IANA name of the time zone of all times
	// address of this page with the parameters that its languages keep, to which one can be added; empty: "?"
	Here     string
	Operator bool        // the user is an operator
	Until    *time.Time  // the user looks into the tenant as operator until this time
	Low      *LowBalance // the warning of a low balance, or nil
}

func (l *Layout) base() *Layout { return l }

// TenantView is the tenant in the frame.
type TenantView struct {
	Name       string
	Disabled   bool
	Reason     string // why it is disabled, for those who read the audit log; may be empty
	Test, Live string // addresses of this page, or of the overview, in both modes
	Mode       string // test, live, or empty on a page without a mode
}

// ShopView is a link to a tenant.
type ShopView struct{ Name, Href string }

// LowBalance is the low-balance warning that a tenant has asked for.
type LowBalance struct {
	Left, Held int
	Below      int64
	Href       string // of the page about billing; empty for those who may not open it
}

// NavGroupView is a part of the navigation as a user sees it.
type NavGroupView struct {
	Name  string
	Items []NavItemView
}

// NavItemView is a page of the navigation as a user sees it.
type NavItemView struct {
	Name, Href, Icon string
	Current          bool
}

// layout returns the frame of the request's page, without its notice.
func (r *Request) layout() Layout {
	l := Layout{
		Docs: r.Docs(), Sought: r.Sought,
		Here:   r.here(),
		Person: r.Who.User().Name, Operator: r.Who.User().Operator,
		Test: r.Route.HasMode() && !r.Access.Livemode(), Zone: r.Zone().String(),
	}
	if r.Access.ReadOnly() {
		l.Until = r.Who.Login().EnteredUntil
	}
	r.desk.cfg.Frame(r, &l)
	return l
}

// maxKeptText is the maximum length of a parameter that links keep, in bytes.
const maxKeptText = 512

// here returns a reference to the page's own address, with the parameters that its
// route keeps. A parameter can be appended. It is empty if nothing is kept.
func (r *Request) here() string {
	kept := url.Values{}
	for _, name := range r.Route.Kept {
		if value := r.QueryParam(name); value != "" && len(value) <= maxKeptText {
			kept.Set(name, value)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return "?" + kept.Encode() + "&"
}

// Nav returns the pages of a navigation that exist and that the user may open.
func (r *Request) Nav(groups []NavGroup) []NavGroupView {
	var shown []NavGroupView
	for _, group := range groups {
		g := NavGroupView{Name: group.Name}
		for _, item := range group.Items {
			route := r.desk.byPattern[item.Pattern]
			if !r.Opens(item.Pattern) || route.TestOnly && r.Mode() == "live" {
				continue
			}
			at, below := r.Route.Path, cmp.Or(item.Below, item.Pattern)+"/"
			g.Items = append(g.Items, NavItemView{item.Name, r.Address(item.Pattern), "icon-" + item.Icon,
				at == item.Pattern || !item.Alone && strings.HasPrefix(at, below)})
		}
		if g.Items != nil {
			shown = append(shown, g)
		}
	}
	return shown
}

// Href returns a pattern's address for a tenant and a mode.
func Href(pattern, tenant, mode string) string {
	return strings.Replace(strings.Replace(pattern, ":tenant", tenant, 1), ":mode", mode, 1)
}
