package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"agegate/internal/backoffice/account"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
)

const stepUpPath = "/dashboard/step-up"

var stepUpForm = &desk.Form{
	Name: "step_up", Again: true,
	Fields: []desk.Field{
		{Name: "password", Kind: "password", Max: 4 * account.MaxPassword, Either: true, Autocomplete: "current-password"},
		{Name: "code", Kind: "text", Max: 40, Either: true, Autocomplete: "one-time-code", Hint: true},
	},
	Problems: map[error]string{account.ErrWrongLogin: "wrong", account.ErrWrongCode: "code",
		account.ErrPasskey: "passkey"},
}

func (p *Pages) stepUp() desk.Feature {
	f := desk.Feature{Screens: []string{"step_up"}}
	f.Fill(desk.Route{Path: stepUpPath, MinRole: desk.User, Renews: true}, stepUpForm, p.doStepUp)
	return f
}

type stepUpView struct {
	desk.Layout
	Form    *desk.FormView
	Next    string
	Back    string    // address of the nearest page that asks for no confirmation
	For     page.Text // the part of the dashboard that asks
	Act     string    // key of the name of the act that asks; empty if the part says it
	Passkey desk.PasskeyView
	Factors account.Factors
	SSO     ssoView // for a user whom the provider made; it confirms instead
}

// askStepUp answers a request that needs a recent confirmation with the page to
// give it. A user without a second factor sees that one is needed.
func (p *Pages) askStepUp(r *desk.Request, cause error) error {
	if r.Part() != "" {
		return cause
	}
	if errors.Is(cause, desk.ErrSecondFactor) {
		factors, err := p.cfg.Accounts.Factors(r.Ctx(), r.Who)
		if err != nil || !factors.Strong() {
			r.PutCookie(onwardCookie, r.Request().URL.Path, account.SetupTTL)
			return errors.Join(err, cause)
		}
	}
	f, err := r.Blank(stepUpForm)
	if err != nil {
		return err
	}
	next := p.Onward(r.Request().URL.Path)
	if next == homePath { // no page has the address of the form
		next = p.Onward(path.Dir(r.Request().URL.Path))
	}
	if err := r.KeepDraft(next); err != nil {
		return err
	}
	return p.renderStepUp(r, http.StatusForbidden, f, next)
}

func (p *Pages) renderStepUp(r *desk.Request, status int, f *desk.FormView, next string) error {
	factors, err := p.cfg.Accounts.Factors(r.Ctx(), r.Who)
	if err != nil {
		return err
	}
	options, err := p.cfg.Accounts.StepUpOptions(r.Ctx(), r.Who)
	if err != nil {
		return err
	}
	v := &stepUpView{Form: f, Next: next, Back: p.Unguarded(next), For: partOf(next), Act: p.actAt(next),
		Passkey: p.offer(options), Factors: factors}
	if r.Who.User().Managed() {
		v.SSO = p.ssoOffer(url.Values{"next": {next}, "again": {"1"}})
	}
	return r.Show(status, "step_up", v)
}

// acts has the names of acts without a button text of their own.
var acts = map[string]string{
	memberPath: "step_up.act_role", urlsPath: "step_up.act_urls", evidencePath: "step_up.act_evidence",
	auditExportPath: "audit.export", operatorAuditExportPath: "audit.export",
	newTenantPath: "operator.create", newPasskeyPath: "passkey.title", totpPath: "begin_totp.button",
	totpPicturePath: "begin_totp.button",
}

// actAt returns the key of the name of the act that the page at an address is for:
// the text of the button that performs it.
func (p *Pages) actAt(address string) string {
	pattern, form := p.ActAt(address)
	for _, key := range []string{acts[pattern], form + ".button", form + ".submit"} {
		if key != "" && p.Set.Has(key) {
			return key
		}
	}
	return ""
}

// partOf returns the name of the part of the dashboard to which an address belongs.
func partOf(address string) page.Text {
	best, name := 0, "account"
	for _, group := range slices.Concat(tenantNav, operatorNav, accountNav) {
		for _, item := range group.Items {
			_, below, _ := strings.Cut(item.Pattern, ":tenant")
			below = strings.TrimPrefix(below, "/:mode")
			if below == "" && item.Pattern != overviewPath {
				below = item.Pattern
			}
			if below != "" && item.Pattern != homePath && len(below) > best && strings.Contains(address+"/", below+"/") {
				best, name = len(below), item.Name
			}
		}
	}
	return page.Say("nav." + name)
}

func (p *Pages) doStepUp(r *desk.Request) (*desk.Question, error) {
	next := p.Onward(nextOf(r))
	return &desk.Question{
		Show: func(status int, f *desk.FormView) error { return p.renderStepUp(r, status, f.With("code", ""), next) },
		Do: func(f *desk.FormView) (err error) {
			var token string
			if response := r.Request().PostForm.Get("passkey"); response != "" {
				token, err = p.cfg.Accounts.StepUpByPasskey(r.Ctx(), r.Who, response, r.Browser())
			} else {
				token, err = p.cfg.Accounts.StepUp(r.Ctx(), r.Who, f.Value("password"), f.Value("code"), r.Browser())
			}
			if errors.Is(err, account.ErrSignedOut) {
				return r.SignIn()
			}
			return renew(r, token, err, next, "stepped_up")
		},
	}, nil
}
