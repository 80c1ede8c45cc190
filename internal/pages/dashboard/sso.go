package dashboard

import (
	"errors"
	"net/http"
	"net/url"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

const (
	ssoPath     = account.SSOPath + ":provider"
	ssoBackPath = ssoPath + account.SSOBack
)

// ssoCookie holds a log-in by a provider that has begun.
const ssoCookie = "agegate-sso"

// lastSSOCookie names the tenant whose provider was used last in a browser.
const lastSSOCookie = "agegate-sso-tenant"

// sso are the log-ins by identity providers: a page that leads to the provider's,
// and the one to which that leads back. Both are opened by links, since a form of
// the dashboard must not lead to another site.
func (p *Pages) sso() feature {
	return feature{
		routes: []route{
			{method: http.MethodGet, path: ssoPath, handle: p.beginSSO},
			{method: http.MethodGet, path: ssoBackPath, handle: p.finishSSO},
		},
		notices: []string{"sso_late", "sso_refused", "sso_no_group", "sso_failed"},
	}
}

// ssoView offers to log in by a provider.
type ssoView struct {
	Name string // of the provider; empty if there is none
	Href string
}

// ssoOf returns the view of a tenant's provider, or of the instance's for
// uuid.Nil.
func (p *Pages) ssoOf(r *request, of uuid.UUID, query url.Values) (ssoView, error) {
	name, err := p.cfg.Accounts.ProviderName(r.ctx(), of)
	if fault.CodeOf(err) == fault.NotFound {
		return ssoView{}, nil
	}
	return ssoView{name, account.SSOPath + account.SSOName(of) + "?" + query.Encode()}, err
}

// ssoChoices returns the providers to log in by: the instance's, and that of the
// tenant through which the browser has logged in before.
func (p *Pages) ssoChoices(r *request, next string) ([]ssoView, error) {
	offered := []uuid.UUID{uuid.Nil}
	if last, ok := parseID(r.cookie(lastSSOCookie)); ok {
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

// provider returns whose provider the path names.
func (r *request) provider() (uuid.UUID, error) {
	if r.Param("provider") == account.SSOInstance {
		return uuid.Nil, nil
	}
	return r.id("provider")
}

func (p *Pages) beginSSO(r *request) error {
	of, err := r.provider()
	if err != nil {
		return err
	}
	address, cookie, err := p.cfg.Accounts.BeginSSO(r.ctx(), of, p.onward(r.next()), r.QueryParam("again") != "")
	if err != nil {
		return p.ssoFailed(r, of, err)
	}
	r.setCookie(ssoCookie, cookie, account.SSOTTL)
	return r.Redirect(http.StatusSeeOther, address)
}

// finishSSO never repeats what is in its address: a code, or words of the provider.
func (p *Pages) finishSSO(r *request) error {
	of, err := r.provider()
	if err != nil {
		return err
	}
	cookie := r.cookie(ssoCookie)
	r.dropCookie(ssoCookie)
	signed, next, err := p.cfg.Accounts.FinishSSO(r.ctx(), of, cookie, account.Answer{
		State: r.QueryParam("state"), Code: r.QueryParam("code"), Issuer: r.QueryParam("iss"), Error: r.QueryParam("error"),
	}, r.browser())
	if err != nil {
		return p.ssoFailed(r, of, err)
	}
	if of != uuid.Nil {
		r.setCookie(lastSSOCookie, of.String(), account.DeviceTTL)
	}
	return r.enterAt(signed, p.onward(next))
}

// ssoFailed leads back to the log-in page, which says what went wrong.
func (p *Pages) ssoFailed(r *request, of uuid.UUID, err error) error {
	var notice string
	failed, isProvider := errors.AsType[*account.ProviderError](err)
	switch {
	case isProvider:
		p.cfg.Logger.Warn("log-in by an identity provider failed", "provider", account.SSOName(of), "why", failed.Why)
		notice = "sso_failed"
	case errors.Is(err, account.ErrStartAgain):
		notice = "sso_late"
	case errors.Is(err, account.ErrNoGroup):
		notice = "sso_no_group"
	case errors.Is(err, account.ErrRefused):
		notice = "sso_refused"
	default:
		return err
	}
	return r.done(loginPath, notice)
}

// askProvider answers a request to a tenant that requires log-in by its provider:
// a page leads there and back.
func (p *Pages) askProvider(r *request) error {
	id, err := r.id("tenant")
	if err != nil || r.route.method != http.MethodGet || r.part() != "" {
		return errors.Join(err, echo.ErrForbidden)
	}
	query := url.Values{"next": {p.onward(r.Request().URL.Path)}}
	return r.Redirect(http.StatusSeeOther, account.SSOPath+id.String()+"?"+query.Encode())
}
