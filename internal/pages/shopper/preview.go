package shopper

import (
	"slices"

	"agegate/internal/pages/page"
	"agegate/internal/rules/brand"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"

	"github.com/labstack/echo/v4"
)

// previewAge is the target age of a preview.
const previewAge = 18

// previewLogo is the logo's address in a preview. The picture itself replaces it.
const previewLogo = "/brand/preview.png"

// Preview writes the introduction as a tenant's shoppers would see it with a brand,
// for a frame of the dashboard. logo is the brand's PNG; nil: none.
func (p *Pages) Preview(c echo.Context, of tenant.Tenant, with brand.Brand, logo []byte, dark bool) error {
	v := visit{tenant: of, brand: with, sess: session.Session{CancelURL: of.CancelURL, TargetAge: previewAge}}
	v.brand.LogoHash = ""
	ways := slices.DeleteFunc([]session.Way{session.WayWallet, session.WayPhoto}, func(w session.Way) bool {
		return !of.OffersDocument() || !of.Allows(string(w))
	})
	view := introOf(v, layout{look: lookOf(v)}, ways)
	framed := page.Framed{Dark: dark, Sheets: []string{"tokens.css", "page.css"}}
	if with.Colour != "" {
		framed.CSS = with.Colour.CSS()
	}
	if logo != nil {
		view.Logo, framed.Images = previewLogo, map[string][]byte{previewLogo: logo}
	}
	p.complete(c, view.base())
	view.Offered = of.Languages[:min(1, len(of.Languages))] // the default
	return p.pages.RenderFramed(c, "intro", view, framed)
}
