package app

import (
	"net/http"

	"agegate/internal/app/config"
	"agegate/internal/edge/reference"
	"agegate/internal/pages/dashboard"
	"agegate/internal/pages/shopper"

	"github.com/labstack/echo/v4"
)

// buildDocs builds the documentation, which leads to the dashboard if there is one, and
// says how its first account is made unless operators log in by single sign-on.
func (a *App) buildDocs(cfg config.Config) (err error) {
	docs := reference.Config{BaseURL: cfg.BaseURL, SampleShop: cfg.SampleShop, Operator: reference.Operator{
		Name: cfg.OperatorName, Imprint: cfg.ImprintURL, Privacy: cfg.VerifyURL + shopper.PrivacyPath,
	}}
	if a.api.dashboard != nil {
		docs.DashboardURL = cfg.DashboardURL + dashboard.Home
		if cfg.SSO.Issuer == "" {
			docs.NeedsSetup = a.Accounts.NeedsSetup
		}
	}
	a.api.docs, err = reference.New(docs)
	return err
}

// showError writes the error page of the set of pages to which the request's path
// belongs, or plain text if that set is not served here.
func (a *App) showError(c echo.Context, status int, cause error) {
	path := c.Request().URL.Path
	switch {
	case a.api != nil && a.api.dashboard != nil && !a.api.apart && dashboard.Owns(path):
		a.api.dashboard.Error(c, status, cause)
	case a.api != nil && !shopper.Owns(path):
		a.api.docs.Error(c, status)
	case a.pages != nil:
		a.pages.shopper.Error(c, status, cause)
	default:
		_ = c.String(status, http.StatusText(status)) // it fails only if the client has gone
	}
}
