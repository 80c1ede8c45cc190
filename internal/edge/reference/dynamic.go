package reference

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"agegate/internal/pages/page"
)

// show writes a page that is made for each request.
func (p *Pages) show(c echo.Context, status int, v *view) error {
	out, err := p.render(v)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Content-Security-Policy", policy)
	c.Response().Header().Set(echo.HeaderCacheControl, "no-cache") // the page names the files of this build
	return c.HTMLBlob(status, out)
}

// start serves the page at /. It is computed for each request, because the first
// operator can come at any time.
func (p *Pages) start(c echo.Context) error {
	made, err := p.made()
	if err != nil {
		return err
	}
	v := made.frame
	v.Title, v.Path, v.Shop = "Start", "/", p.cfg.SampleShop
	if p.cfg.NeedsSetup != nil {
		// Without its database the gateway still shows its first page.
		v.Setup, _ = p.cfg.NeedsSetup(c.Request().Context())
	}
	return p.show(c, http.StatusOK, &v)
}

// Error writes the page of a failed request at an address that no other set of pages
// owns.
func (p *Pages) Error(c echo.Context, status int) {
	write := func(c echo.Context) error {
		made, err := p.made()
		if err != nil {
			return err
		}
		v := made.frame
		v.Title, v.Status = http.StatusText(status), status
		return p.show(c, status, &v)
	}
	if err := page.Compress(write)(c); err != nil {
		_ = c.NoContent(status) // the connection is gone
	}
}
