package shopper

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// privacyPath is the page to which the footer links if neither the tenant nor the
// operator has a privacy notice.
const privacyPath = "/privacy"

type privacyView struct{ layout }

// showPrivacy answers GET /privacy: what a check processes, and what is stored.
func (p *Pages) showPrivacy(c echo.Context) error {
	return p.render(c, http.StatusOK, "privacy", &privacyView{layout{Path: privacyPath}})
}
