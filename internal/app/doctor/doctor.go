// Package doctor examines an installation for its operator: configuration,
// database, secret key, clock, models, public addresses and the hosts of the
// merchants' callbacks. It changes nothing, except for store.TryWrite, and works while the gateway runs.
package doctor

import (
	"context"
	"regexp"
	"time"

	"agegate/internal/app/config"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/tenant"
)

// Grade is the severity of a finding.
type Grade string

// Grades.
const (
	OK      Grade = "ok"
	Warning Grade = "warning" // the gateway works, but not as well as it could, or not for long
	Problem Grade = "problem" // something does not work
)

// Finding is the result of one examination. It contains no secret, and only the hosts of callback URLs.
type Finding struct {
	Name   string `json:"-"`     // a key of dashboard.FindingPlaces, if Known can return it
	Check  string `json:"check"` // what was examined
	Grade  Grade  `json:"grade"`
	Found  string `json:"found"`
	Advice string `json:"advice,omitempty"` // what to do; empty for OK, and where the next finding has it
	// Tenants are the ones that it is about, at most mostNamed, with ID and Name.
	Tenants []tenant.Tenant `json:"-"`
}

// like reports whether two findings say the same, perhaps of different things.
func (f Finding) like(o Finding) bool {
	return f.Grade == o.Grade && f.Found == o.Found && f.Advice == o.Advice
}

// Options say what to examine and how.
type Options struct {
	Config config.Config
	Sealer *credential.Sealer
	Now    func() time.Time
	// Timeout bounds each examination, and the wait for each callback host.
	Timeout time.Duration
	// Tell is called for every finding, as soon as it is known.
	Tell func(Finding)
	// Progress is called before each examination, with its name and number.
	Progress func(text string)
}

// DefaultTimeout is a good value for Options.Timeout.
const DefaultTimeout = 10 * time.Second

// expirySoon is how long before its expiry a certificate is reported. Most certificates are renewed a month before.
const expirySoon = 14 * 24 * time.Hour

// examiner carries out the examinations.
type examiner struct {
	Options
	answers bool // a gateway answers at the base URL
}

// documents are the files that gateways serve under /docs/.
var documents = regexp.MustCompile(`docs/(?:guides|operations)/([a-z-]+)\.md`)

// Examine makes all examinations one after the other. It takes some minutes at most.
func Examine(ctx context.Context, o Options) {
	e, tell := examiner{Options: o}, o.Tell
	e.Tell = func(f Finding) {
		f.Advice = documents.ReplaceAllString(f.Advice, o.Config.BaseURL+"/docs/$1")
		tell(f)
	}
	e.ok("configuration", "all variables can be used; the role is "+o.Config.Role)
	for _, f := range settings(e.Config, e.Now()) {
		e.Tell(f)
	}
	for _, step := range []struct {
		name string
		make func(context.Context)
	}{{"clock", e.clock}, {"models", e.models}, {"addresses", e.addresses}, {"mail", e.mail}, {"single sign-on", e.sso}} {
		e.within(ctx, step.name, step.make)
	}
	e.database(ctx)
}

// within runs one examination with a timeout.
func (e *examiner) within(ctx context.Context, name string, examine func(context.Context)) {
	e.Progress(name)
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	examine(ctx)
}

func (e *examiner) ok(check, found string) { e.Tell(Finding{Check: check, Grade: OK, Found: found}) }

func (e *examiner) warn(check, found, advice string) {
	e.Tell(Finding{Check: check, Grade: Warning, Found: found, Advice: advice})
}

func (e *examiner) problem(check, found, advice string) {
	e.Tell(Finding{Check: check, Grade: Problem, Found: found, Advice: advice})
}
