package dashboard

import (
	"net/http"

	"agegate/internal/backoffice/account"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/rules/tenant"
)

// tryQuery is the parameter that turns a log-in by a tenant's provider into a trial.
// The trial begins at the log-in's address, because a form of the dashboard must not
// lead to another site.
const tryQuery = "try"

// signOnTrialView shows what the tenant's provider said about the owner who tries it.
type signOnTrialView struct {
	desk.Layout
	*account.Trial
	Back string
}

// showTrial shows a trial to the owner who made it, in the frame of their tenant.
func (p *Pages) showTrial(r *desk.Request, trial *account.Trial) (err error) {
	r.Who, r.Access = trial.By.Identity, trial.By
	if r.Tenant, err = p.cfg.Tenants.Tenant(r.Ctx(), r.Access.TenantID()); err != nil {
		return err
	}
	for i, name := range trial.Claims {
		trial.Claims[i] = excerpt(name)
	}
	for i := range trial.Groups {
		trial.Groups[i].Name = excerpt(trial.Groups[i].Name)
	}
	return r.Show(http.StatusOK, "sign_on_trial", &signOnTrialView{Trial: trial, Back: r.Href(signOnPath)})
}

// excerpt returns the beginning of a provider's text, with hidden characters escaped.
func excerpt(text string) string {
	n := 0
	for i := range text {
		if n++; n > account.MaxGroup {
			return tenant.Visible(text[:i]) + "…"
		}
	}
	return tenant.Visible(text)
}
