package dashboard

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"

	"agegate/internal/backoffice/account"
	"agegate/internal/pages/dashboard/desk"
)

// ssoCookie holds a log-in by the identity provider that has begun.
const ssoCookie = "agegate-sso"

// sso has the log-in by the identity provider: a page that redirects to the provider's, and the page to which the
// provider redirects back. Links lead to both, because a form of the dashboard must not lead to another site.
func (p *Pages) sso() desk.Feature {
	return desk.Feature{
		Routes: []desk.Route{
			{Method: http.MethodGet, Path: account.SSOPath, Handle: p.beginSSO},
			{Method: http.MethodGet, Path: account.SSOBackPath, Handle: p.finishSSO},
		},
		Failed: []string{"sso_late", "sso_refused", "sso_no_claim", "sso_overage", "sso_no_group",
			"sso_not_asked", "sso_failed", "sso_unreached"},
	}
}

// ssoView offers to log in by the identity provider.
type ssoView struct {
	Name string // of the provider; empty if there is none
	Href string
}

func (p *Pages) ssoOffer(query url.Values) ssoView {
	return ssoView{p.cfg.Accounts.ProviderName(), account.SSOPath + "?" + query.Encode()}
}

// beginSSO redirects to the provider's page.
func (p *Pages) beginSSO(r *desk.Request) error {
	address, cookie, err := p.cfg.Accounts.BeginSSO(r.Ctx(), p.Onward(nextOf(r)), r.QueryParam("again") != "",
		r.Browser())
	if err != nil {
		return p.ssoFailed(r, err)
	}
	r.PutCookie(ssoCookie, cookie, account.SSOTTL)
	return r.Redirect(http.StatusSeeOther, address)
}

// finishSSO never repeats anything from its address, which holds a code or the provider's words.
func (p *Pages) finishSSO(r *desk.Request) error {
	cookie := r.CookieValue(ssoCookie)
	r.DropCookie(ssoCookie)
	signed, next, err := p.cfg.Accounts.FinishSSO(r.Ctx(), cookie, account.Answer{
		State: r.QueryParam("state"), Code: r.QueryParam("code"), Issuer: r.QueryParam("iss"), Error: r.QueryParam("error"),
	}, r.Browser())
	if err != nil {
		return p.ssoFailed(r, err)
	}
	return enterAt(r, signed, nil, p.Onward(next), "")
}

// ssoFailed leads back to the log-in page, which says what went wrong.
func (p *Pages) ssoFailed(r *desk.Request, err error) error {
	const failure = "log-in by the identity provider failed"
	var notice string
	failed, isProvider := errors.AsType[*account.ProviderError](err)
	groups, isGroups := errors.AsType[*account.GroupsError](err)
	switch {
	case isGroups:
		p.cfg.Logger.WarnContext(r.Ctx(), failure, "why", groups.Why, "claim", groups.Claim, "groups", groups.Count)
		notice = "sso_" + string(groups.Why)
	case isProvider:
		p.cfg.Logger.WarnContext(r.Ctx(), failure, "why", failed.Why, "claim", failed.Claim)
		notice = cmp.Or(map[account.Why]string{account.WhyNotAsked: "sso_not_asked", account.WhyDNS: "sso_unreached",
			account.WhyConnect: "sso_unreached", account.WhyTLS: "sso_unreached"}[failed.Why], "sso_failed")
	case errors.Is(err, account.ErrStartAgain):
		notice = "sso_late"
	case errors.Is(err, account.ErrRefused):
		notice = "sso_refused"
	default:
		return err
	}
	return r.Done(loginPath, notice)
}
