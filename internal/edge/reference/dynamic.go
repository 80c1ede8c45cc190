package reference

import (
	"net/http"
	"path"
	"strings"

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

// search serves the search as a page, for browsers without a script. It is computed
// for each request, within the limits of search.
func (p *Pages) search(c echo.Context) error {
	made, err := p.made()
	if err != nil {
		return err
	}
	v := made.frame
	v.Title, v.Path = "Search", searchPath
	v.Query = c.QueryParam("q")
	v.Query = strings.ToValidUTF8(v.Query[:min(len(v.Query), maxQuery)], "")
	v.Found = made.index.search(v.Query)
	return p.show(c, http.StatusOK, &v)
}

// maxGuesses is how many pages the page of an unknown address suggests.
const maxGuesses = 5

// Error writes the page of a failed request at an address that no other set of pages
// owns. Below Path, the page of an unknown address suggests pages by the address's last
// part.
func (p *Pages) Error(c echo.Context, status int) {
	write := func(c echo.Context) error {
		made, err := p.made()
		if err != nil {
			return err
		}
		v := made.frame
		v.Title, v.Status = http.StatusText(status), status
		if at := c.Request().URL.Path; status == http.StatusNotFound && strings.HasPrefix(at, Path+"/") {
			found := made.index.search(strings.ReplaceAll(path.Base(at), "-", " "))
			v.Found = found[:min(len(found), maxGuesses)]
		}
		return p.show(c, status, &v)
	}
	if err := page.Compress(write)(c); err != nil {
		_ = c.NoContent(status) // the connection is gone
	}
}
