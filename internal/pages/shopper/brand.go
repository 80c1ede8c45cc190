package shopper

import (
	"net/http"
	"slices"
	"strings"

	"agegate/internal/pages/page"
	"agegate/internal/rules/brand"
	"agegate/internal/rules/tenant"

	"github.com/labstack/echo/v4"
)

// Operator is the operator of the gateway, as shown to shoppers.
type Operator struct {
	Name    string       // empty: not shown
	Links   tenant.Links // shown if the tenant has set none
	Imprint string       // address of the imprint, shown on all pages; empty: not shown
}

// footerLink is a link of the footer; its text is page.<Kind>.
type footerLink struct {
	Kind string
	URL  string
}

// footerLinks lists the links that are set.
func footerLinks(l tenant.Links, imprint string) []footerLink {
	return slices.DeleteFunc([]footerLink{
		{"privacy", l.PrivacyURL}, {"help", l.HelpURL}, {"terms", l.TermsURL}, {"imprint", imprint},
	}, func(link footerLink) bool { return link.URL == "" })
}

// look is the part of a page's layout that depends on a merchant's brand.
type look struct {
	Shop       string       // the merchant, as the logo's alternative text
	Logo       string       // path of the logo, or empty
	Stylesheet string       // path of the colours, or empty
	links      tenant.Links // the merchant's own
	languages  []string     // that the merchant offers
}

func lookOf(v visit) look {
	l := look{Shop: v.merchant(), links: v.tenant.Links, languages: v.tenant.Languages}
	if v.brand.LogoHash != "" {
		l.Logo = "/brand/" + v.brand.LogoHash + ".png"
	}
	if v.brand.Colour != "" {
		l.Stylesheet = stylesheetOf(v.brand.Colour)
	}
	return l
}

// stylesheetOf returns the path of a colour's style sheet. It contains the colour, from
// which the gateway derives the sheet, and the hash of the sheet.
func stylesheetOf(c brand.Colour) string {
	return "/brand/" + string(c) + "-" + brand.Hash([]byte(c.CSS())) + ".css"
}

// showBrand answers GET /brand/{colour}-{hash}.css and /brand/{hash}.png. Both
// addresses identify their content, so browsers may cache them for ever.
func (p *Pages) showBrand(c echo.Context) error {
	name := c.Param("file")
	if hash, ok := strings.CutSuffix(name, ".png"); ok {
		logo, err := p.cfg.Tenants.Logo(c.Request().Context(), hash)
		if err != nil {
			return err
		}
		page.KeepForever(c)
		return c.Blob(http.StatusOK, "image/png", logo)
	}
	digits, _, _ := strings.Cut(name, "-")
	colour, err := brand.ParseColour(digits)
	if err != nil || !strings.HasSuffix(name, ".css") {
		return echo.ErrNotFound
	}
	// A replica of another version may derive other shades. This replica answers
	// with its own, which must not be cached under this name.
	if c.Request().URL.Path == stylesheetOf(colour) {
		page.KeepForever(c)
	}
	return c.Blob(http.StatusOK, "text/css; charset=utf-8", []byte(colour.CSS()))
}
