package dashboard

import (
	"errors"
	"html/template"
	"net/http"
	"strings"

	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/rules/brand"
	"agegate/internal/rules/tenant"

	"github.com/labstack/echo/v4"
)

// maxBranding is the maximum size of the branding form, in bytes. It is far more than the limit of a logo, so
// that a file that is too large, such as a camera's picture, is refused with a message at its field.
const maxBranding = 16 << 20

const (
	// logoPath is where the dashboard shows logos.
	logoPath = "/dashboard/logo/:file"
	// previewPath shows the hosted page as it is now, in one scheme.
	previewPath = brandingPath + "/preview/:scheme"

	// The schemes of a preview.
	previewLight = "light"
	previewDark  = "dark"
)

var brandFields = []desk.Field{
	{Name: "brand_name", Kind: "text", Max: 100, Optional: true, Hint: true},
	{Name: "brand_colour", Kind: "text", Max: 100, Optional: true, Hint: true},
	{Name: "brand_logo", Kind: "file", Optional: true, Hint: true},
	{Name: "remove_logo", Kind: "checkbox"},
	{Name: "privacy_url", Kind: "url", Max: tenant.MaxURLLength, Optional: true},
	{Name: "help_url", Kind: "url", Max: tenant.MaxURLLength, Optional: true},
	{Name: "terms_url", Kind: "url", Max: tenant.MaxURLLength, Optional: true},
	{Name: "review_url", Kind: "url", Max: tenant.MaxURLLength, Optional: true, Hint: true},
}

func (p *Pages) branding() desk.Feature {
	return desk.Feature{
		Routes: []desk.Route{
			{Method: http.MethodGet, Path: logoPath, MinRole: desk.User, Handle: p.showLogo},
			{Method: http.MethodGet, Path: previewPath, MinRole: desk.Owner, Handle: p.showPreview},
		},
		Keys:  []string{"branding.light", "branding.dark"},
		Funcs: template.FuncMap{"schemes": func() []string { return []string{previewLight, previewDark} }},
	}
}

// brandChanges returns the changes of the brand and the links in the form. A new logo
// takes precedence over removing the old one.
func brandChanges(f *desk.FormView) tenant.Changes {
	c := tenant.Changes{
		PrivacyURL: new(f.Value("privacy_url")), HelpURL: new(f.Value("help_url")), TermsURL: new(f.Value("terms_url")),
		ReviewURL: new(f.Value("review_url")),
		Brand:     &tenant.BrandChanges{Name: new(f.Value("brand_name")), Colour: new(f.Value("brand_colour"))},
	}
	if len(f.Upload) > 0 || f.Checked("remove_logo") {
		c.Brand.Logo = &f.Upload
	}
	return c
}

// previewForm shows the hosted page with the values of the form. In place of a value
// that cannot be read it uses the stored one; saving the form reports the error.
func (p *Pages) previewForm(r *desk.Request, f *desk.FormView, stored brand.Brand) error {
	look, of := stored, r.Tenant
	look.Name = f.Value("brand_name")
	if colour, err := brand.ParseColour(f.Value("brand_colour")); err == nil || f.Value("brand_colour") == "" {
		look.Colour = colour
	}
	of.Links.PrivacyURL, of.Links.HelpURL = f.Value("privacy_url"), f.Value("help_url")
	of.Links.TermsURL, of.Languages = f.Value("terms_url"), append(of.Languages, p.Set.Language(r)) // the first counts
	logo, err := p.previewLogo(r, f, stored)
	if err != nil {
		return err
	}
	return p.cfg.Preview(r, of, look, logo, r.Request().PostForm.Get("preview") == previewDark)
}

// previewLogo returns the logo that saving the form would leave, or nil.
func (p *Pages) previewLogo(r *desk.Request, f *desk.FormView, stored brand.Brand) ([]byte, error) {
	if len(f.Upload) > 0 {
		logo, err := p.cfg.Tenants.DecodeLogo(r.Ctx(), r.Access.TenantID(), f.Upload)
		if !errors.Is(err, brand.ErrLogoFormat) && !errors.Is(err, brand.ErrLogoSize) {
			return logo, err
		}
	}
	if f.Checked("remove_logo") {
		return nil, nil
	}
	return p.storedLogo(r, stored)
}

// showPreview shows the hosted page as it is now.
func (p *Pages) showPreview(r *desk.Request) error {
	scheme := r.Param("scheme")
	if scheme != previewLight && scheme != previewDark {
		return echo.ErrNotFound
	}
	look, err := p.cfg.Tenants.Brand(r.Ctx(), r.Access.TenantID())
	if err != nil {
		return err
	}
	logo, err := p.storedLogo(r, look)
	if err != nil {
		return err
	}
	r.Tenant.Languages = append(r.Tenant.Languages, p.Set.Language(r)) // the first counts
	return p.cfg.Preview(r, r.Tenant, look, logo, scheme == previewDark)
}

// storedLogo returns the logo of a brand, or nil.
func (p *Pages) storedLogo(r *desk.Request, look brand.Brand) ([]byte, error) {
	if look.LogoHash == "" {
		return nil, nil
	}
	return p.cfg.Tenants.Logo(r.Ctx(), look.LogoHash)
}

// showLogo answers with a logo.
func (p *Pages) showLogo(r *desk.Request) error {
	hash, isLogo := strings.CutSuffix(r.Param("file"), ".png")
	if !isLogo {
		return echo.ErrNotFound
	}
	logo, err := p.cfg.Tenants.Logo(r.Ctx(), hash)
	if err != nil {
		return err
	}
	return r.Blob(http.StatusOK, "image/png", logo)
}
