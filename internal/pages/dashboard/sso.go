package dashboard

import (
	"errors"
	"net/http"
	"net/url"

	"agegate/internal/backoffice/account"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

const (
	ssoPath     = account.SSOPath + ":provider"
	ssoBackPath = ssoPath + account.SSOBack
)

// ssoCookie holds a log-in by a provider that has begun.
const ssoCookie = "agegate-sso"

// lastSSOCookie names the tenant whose provider was used last in a browser.
const lastSSOCookie = "agegate-sso-tenant"

// sso has the log-ins by identity providers: a page that redirects to the provider's,
// and the page to which the provider redirects back. Links lead to both, because a
// form of the dashboard must not lead to another site.
func (p *Pages) sso() desk.Feature {
	return desk.Feature{
		Routes: []desk.Route{
			{Method: http.MethodGet, Path: ssoPath, Handle: p.beginSSO},
			{Method: http.MethodGet, Path: ssoBackPath, Handle: p.finishSSO},
		},
		Failed: []string{"sso_late", "sso_refused", "sso_no_claim", "sso_overage", "sso_no_group",
			"sso_not_asked", "sso_failed"},
	}
}

// ssoView offers to log in by a provider.
type ssoView struct {
	Name string // of the provider; empty if there is none
	Href string
}

// ssoOf returns the view of a tenant's provider, or of the instance's for
// uuid.Nil.
func (p *Pages) ssoOf(r *desk.Request, of uuid.UUID, query url.Values) (ssoView, error) {
	name, err := p.cfg.Accounts.ProviderName(r.Ctx(), of)
	if fault.CodeOf(err) == fault.NotFound {
		return ssoView{}, nil
	}
	return ssoView{name, account.SSOPath + account.SSOName(of) + "?" + query.Encode()}, err
}

// ssoChoices returns the providers to choose from: the instance's, and that of the
// tenant whose provider was last used in this browser.
func (p *Pages) ssoChoices(r *desk.Request, next string) ([]ssoView, error) {
	offered := []uuid.UUID{uuid.Nil}
	if last, ok := desk.ParseID(r.CookieValue(lastSSOCookie)); ok {
		offered = []uuid.UUID{last, uuid.Nil}
	}
	var views []ssoView
	for _, of := range offered {
		v, err := p.ssoOf(r, of, url.Values{"next": {next}})
		if err != nil {
			return nil, err
		}
		if v.Name != "" {
			views = append(views, v)
		}
	}
	return views, nil
}

// providerOf returns whose provider the path names.
func providerOf(r *desk.Request) (uuid.UUID, error) {
	if r.Param("provider") == account.SSOInstance {
		return uuid.Nil, nil
	}
	return r.ID("provider")
}

// beginSSO redirects to a provider's page, for a log-in or, with tryQuery, for a
// trial. Users who may not try go to the page with the button, where the guard says
// why.
func (p *Pages) beginSSO(r *desk.Request) error {
	of, err := providerOf(r)
	if err != nil {
		return err
	}
	var address, cookie string
	if r.QueryParam(tryQuery) == "" {
		address, cookie, err = p.cfg.Accounts.BeginSSO(r.Ctx(), of, p.Onward(nextOf(r)), r.QueryParam("again") != "",
			r.Browser())
	} else {
		address, cookie, err = p.cfg.Accounts.BeginTrial(r.Ctx(), of, r.Browser())
		if errors.Is(err, account.ErrStartAgain) {
			return r.Done(desk.Href(signOnPath, of.String(), ""), "")
		}
	}
	if err != nil {
		return p.ssoFailed(r, of, err)
	}
	r.PutCookie(ssoCookie, cookie, account.SSOTTL)
	return r.Redirect(http.StatusSeeOther, address)
}

// finishSSO never repeats anything from its address, which holds a code or the
// provider's words.
func (p *Pages) finishSSO(r *desk.Request) error {
	of, err := providerOf(r)
	if err != nil {
		return err
	}
	cookie := r.CookieValue(ssoCookie)
	r.DropCookie(ssoCookie)
	arrival, err := p.cfg.Accounts.FinishSSO(r.Ctx(), of, cookie, account.Answer{
		State: r.QueryParam("state"), Code: r.QueryParam("code"), Issuer: r.QueryParam("iss"), Error: r.QueryParam("error"),
	}, r.Browser())
	if err != nil {
		return p.ssoFailed(r, of, err)
	}
	if arrival.Trial != nil {
		return p.showTrial(r, arrival.Trial)
	}
	if of != uuid.Nil {
		r.PutCookie(lastSSOCookie, of.String(), account.DeviceTTL)
	}
	return enterAt(r, arrival.Signed, p.Onward(arrival.Next))
}

// ssoFailed leads back to the log-in page, which says what went wrong.
func (p *Pages) ssoFailed(r *desk.Request, of uuid.UUID, err error) error {
	var notice string
	failed, isProvider := errors.AsType[*account.ProviderError](err)
	groups, isGroups := errors.AsType[*account.GroupsError](err)
	switch {
	case isGroups:
		p.cfg.Logger.WarnContext(r.Ctx(), "log-in by an identity provider failed", "provider", account.SSOName(of),
			"why", groups.Why, "claim", groups.Claim, "groups", groups.Count)
		notice = "sso_" + string(groups.Why)
	case isProvider:
		p.cfg.Logger.WarnContext(r.Ctx(), "log-in by an identity provider failed", "provider", account.SSOName(of),
			"why", failed.Why, "claim", failed.Claim)
		notice = "sso_failed"
		if failed.Why == account.WhyNotAsked {
			notice = "sso_not_asked"
		}
	case errors.Is(err, account.ErrStartAgain):
		notice = "sso_late"
	case errors.Is(err, account.ErrRefused):
		notice = "sso_refused"
	default:
		return err
	}
	return r.Done(loginPath, notice)
}
