package dashboard

import (
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"strings"

	"agegate/internal/rules/brand"
	"agegate/internal/rules/tenant"

	"github.com/labstack/echo/v4"
)

// maxBranding is the maximum size of the branding form, in bytes. It is far more
// than a logo may have, so that a file such as a camera's picture is refused at
// its field.
const maxBranding = 16 << 20

// previewPath is where the style sheets and logos of previews are.
const previewPath = "/dashboard/preview/:file"

var brandingForm = &form{
	name: "branding", again: true, // a preview may be requested twice
	fields: []field{
		{name: "brand_name", kind: "text", max: 100, optional: true, hint: true},
		{name: "brand_colour", kind: "text", max: 100, optional: true, hint: true},
		{name: "brand_logo", kind: "file", optional: true, hint: true},
		{name: "remove_logo", kind: "checkbox"},
		{name: "privacy_url", kind: "url", max: tenant.MaxURLLength, optional: true},
		{name: "help_url", kind: "url", max: tenant.MaxURLLength, optional: true},
		{name: "terms_url", kind: "url", max: tenant.MaxURLLength, optional: true},
		{name: "review_url", kind: "url", max: tenant.MaxURLLength, optional: true, hint: true},
	},
	problems: map[error]string{
		tenant.ErrNameEmpty: "name", tenant.ErrNameHidden: "name", brand.ErrColour: "colour",
		brand.ErrLogoFormat: "logo_format", brand.ErrLogoSize: "logo_size",
		tenant.ErrURLTooLong: "long", tenant.ErrURLSyntax: "syntax", tenant.ErrURLScheme: "scheme",
		tenant.ErrURLUserinfo: "userinfo", tenant.ErrURLHost: "host", tenant.ErrLinkScheme: "scheme",
	},
}

func (p *Pages) branding() feature {
	f := feature{
		routes: []route{
			{method: http.MethodGet, path: previewPath, minRole: user, handle: p.showPreviewFile},
		},
		screens: []string{"branding"},
		keys:    []string{"branding.light", "branding.dark"},
	}
	f.fill(route{path: brandingPath, minRole: owner, maxForm: maxBranding}, brandingForm, p.saveBranding)
	return f
}

// brandView is a brand as the pages show it.
type brandView struct {
	Name    string // as shown to shoppers
	Own     bool   // the name comes from the brand and not from the tenant
	Colour  string // with its number sign, or empty
	Logo    string // address, or empty
	CSS     string // address of the preview's style sheet
	Schemes []schemeView
}

// schemeView shows a colour as it appears on light or dark screens.
type schemeView struct {
	Name     string // light or dark: the text branding.<Name>
	Accent   string // with its number sign
	On       string // of the text on it
	Contrast string // of the accent on the page's surface
	Button   string // of the text on the accent
	Changed  bool   // the accent differs from the colour that was typed
}

func brandViewOf(t tenant.Tenant, look brand.Brand) brandView {
	v := brandView{Name: t.Name, CSS: "/dashboard/preview/" + look.Colour.PreviewName() + ".css"}
	if look.Name != "" {
		v.Name, v.Own = look.Name, true
	}
	if look.LogoHash != "" {
		// the path on the dashboard, because the hosted page may be at another address
		v.Logo = "/dashboard/preview/" + look.LogoHash + ".png"
	}
	if look.Colour == "" {
		return v
	}
	v.Colour = "#" + string(look.Colour)
	for _, s := range []struct {
		name    string
		accents brand.Accents
		surface brand.Colour
	}{{"light", look.Colour.Light(), brand.LightSurface}, {"dark", look.Colour.Dark(), brand.DarkSurface}} {
		v.Schemes = append(v.Schemes, schemeView{
			Name: s.name, Accent: "#" + string(s.accents.Accent), On: "#" + string(s.accents.On),
			Contrast: fmt.Sprintf("%.1f", brand.Contrast(s.accents.Accent, s.surface)),
			Button:   fmt.Sprintf("%.1f", brand.Contrast(s.accents.On, s.accents.Accent)),
			Changed:  s.accents.Accent != look.Colour,
		})
	}
	return v
}

// previewView is a sketch of the hosted page in one scheme.
type previewView struct {
	Scheme string // light or dark
	Brand  brandView
}

// newPreview is the template function preview.
func newPreview(scheme string, look brandView) previewView { return previewView{scheme, look} }

type brandingView struct {
	layout
	Form    *formView
	Stored  brandView // as it is now
	Preview brandView // as it would be
	Back    string
}

// saveBranding saves the brand. With the button "preview" it only shows the
// result.
func (p *Pages) saveBranding(r *request) (*question, error) {
	look, err := p.cfg.Tenants.Brand(r.ctx(), r.access.TenantID())
	links, colour := r.tenant.Links, ""
	if look.Colour != "" {
		colour = "#" + string(look.Colour)
	}
	show := func(status int, f *formView) error {
		preview := look
		if r.route.method == http.MethodPost {
			preview = previewOf(f, look)
		}
		return r.render(status, "branding", &brandingView{
			Form: f, Stored: brandViewOf(r.tenant, look), Preview: brandViewOf(r.tenant, preview), Back: r.to(settingsPath),
		})
	}
	q := r.change(&question{
		begin: []string{
			"brand_name", look.Name, "brand_colour", colour, "privacy_url", links.PrivacyURL, "help_url", links.HelpURL,
			"terms_url", links.TermsURL,
			"review_url", links.ReviewURL,
		},
		show: show,
	}, brandingChanges, r.to(brandingPath), "branding_saved")
	save := q.do
	q.do = func(f *formView) error {
		if r.Request().PostForm.Has("preview") {
			return show(http.StatusOK, f)
		}
		if err := r.once(f); err != nil {
			return err
		}
		return save(f)
	}
	return q, err
}

// brandingChanges returns the changes in the form. A new logo takes precedence
// over removing the old one.
func brandingChanges(f *formView) tenant.Changes {
	name, colour := f.Value("brand_name"), f.Value("brand_colour")
	privacy, help, terms, review := f.Value("privacy_url"), f.Value("help_url"), f.Value("terms_url"),
		f.Value("review_url")
	c := tenant.Changes{
		PrivacyURL: &privacy, HelpURL: &help, TermsURL: &terms, ReviewURL: &review,
		Brand: &tenant.BrandChanges{Name: &name, Colour: &colour},
	}
	if len(f.upload) > 0 || f.Checked("remove_logo") {
		c.Brand.Logo = &f.upload
	}
	return c
}

// previewOf returns the brand in the form, with the stored logo.
func previewOf(f *formView, stored brand.Brand) brand.Brand {
	look := brand.Brand{Name: f.Value("brand_name"), LogoHash: stored.LogoHash}
	if f.Checked("remove_logo") {
		look.LogoHash = ""
	}
	if colour, err := brand.ParseColour(f.Value("brand_colour")); err == nil {
		look.Colour = colour
	}
	return look
}

// readUpload parses a multipart form and returns the first most bytes of a
// field's file, or nil if there is none. It reads the rest of a longer file, so
// that the fields after it are not lost.
func readUpload(req *http.Request, field string, limit int64) (upload []byte, err error) {
	parts, err := req.MultipartReader()
	if errors.Is(err, http.ErrNotMultipart) {
		return nil, nil // a form without a file
	}
	typed, room := url.Values{}, int64(maxForm)
	for err == nil {
		var part *multipart.Part
		if part, err = parts.NextPart(); err != nil {
			break
		}
		if part.FormName() == field {
			upload, err = io.ReadAll(io.LimitReader(part, limit))
			continue
		}
		var value []byte
		value, err = io.ReadAll(http.MaxBytesReader(nil, part, room))
		room -= int64(len(value))
		typed.Add(part.FormName(), string(value))
	}
	switch {
	case errors.As(err, new(*http.MaxBytesError)), errors.Is(err, os.ErrDeadlineExceeded): // did not arrive in time
		return nil, echo.ErrStatusRequestEntityTooLarge
	case !errors.Is(err, io.EOF):
		return nil, echo.ErrBadRequest
	}
	req.PostForm = typed
	return upload, nil
}

// showPreviewFile answers with the colours of a preview or with a logo.
func (p *Pages) showPreviewFile(r *request) error {
	if hash, isLogo := strings.CutSuffix(r.Param("file"), ".png"); isLogo {
		logo, err := p.cfg.Tenants.Logo(r.ctx(), hash)
		if err != nil {
			return err
		}
		return r.Blob(http.StatusOK, "image/png", logo)
	}
	name, isCSS := strings.CutSuffix(r.Param("file"), ".css")
	css, ok := brand.PreviewCSS(name)
	if !ok || !isCSS {
		return echo.ErrNotFound
	}
	return r.Blob(http.StatusOK, "text/css; charset=utf-8", []byte(css))
}
