package shopper

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// PrivacyPath is the page to which the footer links if neither the tenant nor the operator has a privacy notice.
const PrivacyPath = "/privacy"

type privacyView struct {
	layout
	Days int // for which sessions are kept; 0: no end
}

// showPrivacy answers GET /privacy: what a check processes, and what is stored.
func (p *Pages) showPrivacy(c echo.Context) error {
	return p.render(c, http.StatusOK, "privacy", &privacyView{layout{Path: c.Path()}, int(p.cfg.Retention.Hours() / 24)})
}
