package dashboard

import (
	"net/http"
	"regexp"
	"strings"

	"agegate/internal/backoffice/account"

	"github.com/google/uuid"
)

// minRole is the minimum role for a route.
type minRole int

// The roles between user and operator are members of the path's tenant whose role
// has a right. Being an operator makes nobody a member of a tenant.
const (
	anyone   minRole = iota
	user             // who is signed in
	member           // any role
	reader           // who reads sessions
	viewer           // who reads settings
	refused          // who reads refusals
	auditor          // who reads the audit log
	prover           // who makes evidence packs
	resender         // who sends webhook events again
	developer
	owner
	operator // of the instance
)

// right returns the right that a member needs.
func (l minRole) right() account.Right {
	return map[minRole]account.Right{
		member: account.BeMember, reader: account.ReadSessions, viewer: account.ReadSettings, refused: account.ReadRefusals,
		auditor: account.ReadAudit, prover: account.Prove, resender: account.Resend, developer: account.Develop,
		owner: account.Own,
	}[l]
}

// stepUp is when a route requires a recent confirmation of the user's identity.
type stepUp int

const (
	never stepUp = iota
	inLive
	always
	// ofOneself is always, except that a user without a second factor confirms by
	// password alone: otherwise nobody could add a factor.
	ofOneself
)

// route is a page or an act. All routes of the table are registered, and tests
// enumerate them.
type route struct {
	method string // GET, which includes HEAD, or POST
	// path is the pattern. :tenant is the tenant's ID and :mode is test or live;
	// other parameters are the handler's.
	path     string
	minRole  minRole
	stepUp   stepUp
	testOnly bool     // not found in live mode
	ofLive   bool     // shows data of live mode, although the path has no mode
	renews   bool     // gives the log-in another token
	maxForm  int64    // maximum size of a form, in bytes; 0 means maxForm
	kept     []string // parameters of the query that the links to other languages keep
	handle   func(r *request) error
}

// maxForm is the default maximum size of a form, in bytes: enough for a pasted
// webhook.
const maxForm = 64 << 10

func (r route) hasTenant() bool { return strings.Contains(r.path, ":tenant") }
func (r route) hasMode() bool   { return strings.Contains(r.path, ":mode") }

// modes are the values of :mode.
var modes = map[string]bool{"test": false, "live": true} // to livemode

// segment matches a path parameter in an address to go to.
var segment = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// onward returns where to go after a log-in: the path, built again from the GET
// route that it matches, or home. So no address leads to another site.
func (p *Pages) onward(path string) string {
	given := strings.Split(path, "/")
	for _, r := range p.routes {
		// An invited person may log in first, and a card may be scanned under
		// another host.
		if r.method == http.MethodGet && (r.minRole >= user || r.path == linkPath || r.path == cardPath) {
			if built, ok := rebuild(strings.Split(r.path, "/"), given); ok {
				return built
			}
		}
	}
	return homePath
}

// rebuild returns a path of a pattern with the parameters of given, if it fits.
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
