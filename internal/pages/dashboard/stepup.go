package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"path"

	"agegate/internal/backoffice/account"
)

const stepUpPath = "/dashboard/step-up"

var stepUpForm = &form{
	name: "step_up", again: true,
	fields: []field{
		{name: "password", kind: "password", max: 4 * account.MaxPassword, either: true, autocomplete: "current-password"},
		{name: "code", kind: "text", max: 40, either: true, autocomplete: "one-time-code", hint: true},
	},
	problems: map[error]string{account.ErrWrongLogin: "wrong", account.ErrWrongCode: "code",
		account.ErrPasskey: "passkey"},
}

func (p *Pages) stepUp() feature {
	f := feature{screens: []string{"step_up"}}
	f.fill(route{path: stepUpPath, minRole: user, renews: true}, stepUpForm, p.doStepUp)
	return f
}

type stepUpView struct {
	layout
	Form    *formView
	Next    string
	Passkey passkeyView
	Factors account.Factors
	SSO     ssoView // for a user whom a provider made; it confirms instead
}

// askStepUp answers a request that needs a recent confirmation with the page to
// give it. A user without a second factor sees that one is needed.
func (p *Pages) askStepUp(r *request, cause error) error {
	if r.part() != "" {
		return cause
	}
	if errors.Is(cause, errSecondFactor) {
		factors, err := p.cfg.Accounts.Factors(r.ctx(), r.who)
		if err != nil || !factors.Strong() {
			return errors.Join(err, cause)
		}
	}
	f, err := r.blank(stepUpForm)
	if err != nil {
		return err
	}
	return p.renderStepUp(r, http.StatusForbidden, f, p.pageOf(r.Request().URL.Path))
}

// pageOf returns the page of a form sent to an address: the page at that address,
// or else the one above it, where the form begins.
func (p *Pages) pageOf(address string) string {
	if next := p.onward(address); next != homePath {
		return next
	}
	return p.onward(path.Dir(address))
}

func (p *Pages) renderStepUp(r *request, status int, f *formView, next string) error {
	factors, err := p.cfg.Accounts.Factors(r.ctx(), r.who)
	if err != nil {
		return err
	}
	options, err := p.cfg.Accounts.StepUpOptions(r.ctx(), r.who)
	if err != nil {
		return err
	}
	v := &stepUpView{Form: f, Next: next, Passkey: p.offer(options), Factors: factors}
	if user := r.who.User(); user.Managed() {
		if v.SSO, err = p.ssoOf(r, user.Provider(), url.Values{"next": {next}, "again": {"1"}}); err != nil {
			return err
		}
	}
	return r.render(status, "step_up", v)
}

func (p *Pages) doStepUp(r *request) (*question, error) {
	next := p.onward(r.next())
	return &question{
		show: func(status int, f *formView) error { return p.renderStepUp(r, status, f.With("code", ""), next) },
		do: func(f *formView) (err error) {
			var token string
			if response := r.Request().PostForm.Get("passkey"); response != "" {
				token, err = p.cfg.Accounts.StepUpByPasskey(r.ctx(), r.who, response, r.browser())
			} else {
				token, err = p.cfg.Accounts.StepUp(r.ctx(), r.who, f.Value("password"), f.Value("code"), r.browser())
			}
			if errors.Is(err, account.ErrSignedOut) {
				return r.signIn()
			}
			if err != nil {
				return err
			}
			r.renewed(token)
			return r.done(next, "stepped_up")
		},
	}, nil
}
