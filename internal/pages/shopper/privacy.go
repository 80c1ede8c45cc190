package shopper

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// privacyPath is the page that the footer leads to where neither the tenant nor
// the operator has a privacy notice of their own.
const privacyPath = "/privacy"

type privacyView struct{ layout }

// showPrivacy answers GET /privacy: what a check looks at, and what is kept.
func (p *Pages) showPrivacy(c echo.Context) error {
	return p.render(c, http.StatusOK, "privacy", &privacyView{})
}
