package desk

import (
	"net/http"
	"path"
	"regexp"
	"strings"

	"agegate/internal/backoffice/account"

	"github.com/google/uuid"
)

// MinRole is the minimum role for a route.
type MinRole int

// The roles between User and Operator are members of the path's tenant with a role that
// has a right. An operator is not a member of a tenant by being an operator.
const (
	Anyone   MinRole = iota
	User             // who is signed in
	Member           // any role
	Reader           // who reads sessions
	Viewer           // who reads settings
	Refused          // who reads refusals
	Auditor          // who reads the audit log
	Prover           // who makes evidence packs
	Resender         // who sends webhook events again
	Developer
	Owner
	Operator // of the instance
)

// right returns the right that a member needs for a role.
func (l MinRole) right() account.Right {
	return map[MinRole]account.Right{
		Member: account.BeMember, Reader: account.ReadSessions, Viewer: account.ReadSettings, Refused: account.ReadRefusals,
		Auditor: account.ReadAudit, Prover: account.Prove, Resender: account.Resend, Developer: account.Develop,
		Owner: account.Own,
	}[l]
}

// StepUp is when a route requires a recent confirmation of the user's identity.
type StepUp int

// When a route requires a confirmation.
const (
	Never StepUp = iota
	InLive
	Always
	// OfOneself is Always, except that a user without a second factor confirms by
	// password alone: otherwise nobody could add a factor.
	OfOneself
)

// Route is a page or an act. All routes of the table are registered, and tests enumerate them.
type Route struct {
	Method string // GET, which includes HEAD, or POST
	// Path is the pattern. :tenant is the tenant's ID and :mode is test or live; other parameters are the handler's.
	Path     string
	MinRole  MinRole
	StepUp   StepUp
	TestOnly bool     // not found in live mode
	OfLive   bool     // shows data of live mode, although the path has no mode
	Personal bool     // changes only the user's own membership of the tenant
	Entry    bool     // a log-in may lead here, although the page is for anyone
	Renews   bool     // gives the log-in another token
	Reads    bool     // a POST that changes nothing, for operators who look into a tenant too
	MaxForm  int64    // maximum size of a form, in bytes; 0 means maxForm
	Leads    bool     // shows nothing, but leads to another page
	Kept     []string // parameters of the query that the links to other languages keep
	Handle   func(r *Request) error
	form     *Form // that the route shows or takes; nil if it was not added with Fill
}

// maxForm is the default maximum size of a form, in bytes: enough for a pasted webhook.
const maxForm = 64 << 10

// HasTenant reports whether the path names a tenant.
func (r Route) HasTenant() bool { return strings.Contains(r.Path, ":tenant") }

// HasMode reports whether the path names a mode.
func (r Route) HasMode() bool { return strings.Contains(r.Path, ":mode") }

// modes are the values of :mode.
var modes = map[string]bool{"test": false, "live": true} // to livemode

// segment matches a path parameter in an address to go to.
var segment = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Onward returns the path to go to after a log-in. It builds the path again from the GET route that the given
// path matches, so that no address leads to another site. If no route matches, it returns home.
func (d *Desk) Onward(path string) string {
	if page, built := d.pageAt(path); page.MinRole >= User || page.Entry {
		return built
	}
	return d.cfg.Home
}

// Unguarded returns the page at a path if it needs no confirmation, or otherwise the
// nearest such page above it. If there is none, it returns home.
func (d *Desk) Unguarded(at string) string {
	for ; len(at) > 1; at = path.Dir(at) {
		if page, built := d.pageAt(at); page.Path != "" && page.StepUp == Never && page.MinRole >= User && !page.Leads {
			return built
		}
	}
	return d.cfg.Home
}

// pageAt returns the GET route that matches a path, and the path built again. Of several routes it takes the
// one with the fewest parameters, like the router. built is "" if no route matches.
func (d *Desk) pageAt(at string) (page Route, built string) {
	for _, r := range d.routes {
		found, ok := rebuild(strings.Split(r.Path, "/"), strings.Split(at, "/"))
		fewer := page.Path == "" || strings.Count(r.Path, ":") < strings.Count(page.Path, ":")
		if ok && r.Method == http.MethodGet && fewer {
			page, built = r, found
		}
	}
	return page, built
}

// ActAt returns the pattern of the page at a path, and the name of the form that the page shows; both may be empty.
func (d *Desk) ActAt(at string) (pattern, form string) {
	page, _ := d.pageAt(at)
	if page.form != nil {
		form = page.form.Name
	}
	return page.Path, form
}

// rebuild returns the path of a pattern with the parameters of given. It reports false
// if given does not fit the pattern.
func rebuild(pattern, given []string) (string, bool) {
	if len(pattern) != len(given) {
		return "", false
	}
	built := make([]string, len(pattern))
	for i, part := range pattern {
		_, isMode := modes[given[i]]
		id, err := uuid.Parse(given[i])
		switch {
		case part == ":tenant" && err == nil:
			built[i] = id.String()
		case part == ":mode" && isMode,
			part != ":tenant" && part != ":mode" && strings.HasPrefix(part, ":") && segment.MatchString(given[i]),
			part == given[i]:
			built[i] = given[i]
		default:
			return "", false
		}
	}
	return strings.Join(built, "/"), true
}
