package dashboard_test

import (
	"bytes"
	"html"
	"image"
	"image/png"
	"net/url"
	"strings"
	"testing"

	"agegate/internal/gatewaytest"
	"agegate/internal/rules/brand"
	"agegate/internal/rules/tenant"
)

func picture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, 40, 10))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPreviewHoldsTheLogoOnce: whatever was typed, because each copy is 340 kB at most.
func TestPreviewHoldsTheLogoOnce(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newStaffed(t, g, func(t *tenant.Tenant) { t.Languages = []string{"fr", "en"} })
		form := url.Values{"preview": {"dark"}, "brand_name": {"/brand/preview.png"},
			"privacy_url": {"https://shop.example" + strings.Repeat("/brand/preview.png", 1000)}}
		res, body := o.owner.Upload(t, o.at("/settings"), form, "brand_logo", picture(t))
		want(t, "preview", res, 200, "")
		if !strings.Contains(body, `<html lang="fr"`) {
			t.Error("the preview is not in the shop's first language")
		}
		if n := strings.Count(body, "data:image/png"); n != 1 || !strings.Contains(body, `alt="/brand/preview.png"`) {
			t.Errorf("the preview has %d copies of the logo", n)
		}
	})
}

// TestPreviewSpeaksAsTheDashboard: of a shop without a first language of its own, in both forms of the preview.
func TestPreviewSpeaksAsTheDashboard(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newStaffed(t, g, nil)
		for _, language := range []string{"de", "en"} {
			o.owner.Get(t, o.at("/settings?lang="+language))
			_, stored := o.owner.Get(t, o.at("/settings/branding/preview/light"))
			_, typed := o.owner.Upload(t, o.at("/settings"), url.Values{"preview": {"dark"}}, "brand_logo", nil)
			for what, page := range map[string]string{"stored": stored, "typed": typed} {
				if strings.Contains(page, "(scripting") {
					t.Errorf("the preview of what is %s looks as without scripts", what)
				}
				if !strings.Contains(page, `<html lang="`+language) {
					t.Errorf("the preview of what is %s is not in the language %s", what, language)
				}
			}
		}
		shop := newStaffed(t, g, func(t *tenant.Tenant) { t.Languages = []string{"fr", "en"} })
		if _, page := shop.owner.Get(t, shop.at("/settings/branding/preview/light")); !strings.Contains(page, `<html lang="fr`) {
			t.Error("the preview of a shop whose first language is French is in another")
		}
	})
}

// TestLogoIsNotLost: a logo that was chosen is kept where another field is wrong, and saved with the next try
// unless another one is chosen. What the page brings back is checked like an upload.
func TestLogoIsNotLost(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newStaffed(t, g, nil)
		path, kept := o.at("/settings"), `name="brand_logo_kept" value="`
		form := o.filled(t, o.owner, url.Values{"alert_below": {"-1"}})
		res, body := o.owner.Upload(t, path, form, "brand_logo", picture(t))
		want(t, "another field is wrong", res, 422, "")
		form = o.filled(t, o.owner, url.Values{"alert_below": {"7"}})
		form.Set("brand_logo_kept", html.UnescapeString(between(t, body, kept, `"`)))
		preview := url.Values{"preview": {"light"}, "brand_logo_kept": form["brand_logo_kept"]}
		if _, page := o.owner.Upload(t, path, preview, "brand_logo", nil); !strings.Contains(page, "data:image/png") {
			t.Error("the preview lacks the logo that was kept")
		}
		bad := url.Values{"brand_logo_kept": form["brand_logo_kept"], "alert_below": {"-1"}}
		_, body = o.owner.Upload(t, path, o.filled(t, o.owner, bad), "brand_logo", []byte("<svg>"))
		if got := problem(body, "brand_logo"); !strings.Contains(got, "is not a PNG") {
			t.Errorf("another file does not replace the one that was kept: %q", got)
		}
		res, _ = o.owner.Upload(t, path, form, "brand_logo", nil)
		want(t, "save", res, 303, o.opens("branding alert"))
		look, err := o.App.Tenants.Brand(t.Context(), o.shop.Tenant.ID)
		if err != nil || look.LogoHash == "" {
			t.Fatalf("the logo was lost: %+v, %v", look, err)
		}
		for name, tt := range map[string]struct {
			kept   string
			status int
		}{"no picture": {"PHN2Zz4=", 422}, "no base64": {"<svg>", 400},
			"large": {strings.Repeat("AAAA", brand.MaxLogoBytes), 422}} {
			form := o.filled(t, o.owner, url.Values{"brand_logo_kept": {tt.kept}})
			res, body := o.owner.Upload(t, path, form, "brand_logo", nil)
			if want(t, name, res, tt.status, ""); strings.Contains(body, kept) {
				t.Errorf("%s: the page keeps what is no logo", name)
			}
		}
	})
}

func TestBranding(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newStaffed(t, g, nil)
		path := o.at("/settings")
		polyglot := append(picture(t), "<script>alert(1)</script>"...)
		typed := url.Values{"brand_name": {xss}, "brand_colour": {"#FFD400"}, "privacy_url": {"https://shop.example/privacy"}}
		form := o.filled(t, o.owner, typed)
		form.Del("seen") // it is sent more than once
		form.Del("nonce")

		// A preview is the hosted page with what the form says. It saves nothing.
		preview := url.Values{"preview": {"dark"}, "brand_name": {"Vin & Øl"}, "brand_colour": {"#ffd400"}}
		res, body := o.owner.Upload(t, path, preview, "brand_logo", picture(t))
		want(t, "preview", res, 200, "")
		look, _ := o.App.Tenants.Brand(t.Context(), o.shop.Tenant.ID)
		for _, has := range []string{"Vin &amp; Øl", `data-testid="screen-intro"`, "data:image/png;base64,",
			"--accent:#" + string(brand.Colour("ffd400").Dark().Accent), `content="dark"`, "color-scheme: dark"} {
			if !strings.Contains(body, has) || look != (brand.Brand{}) {
				t.Errorf("the preview lacks %s, or saved %+v", has, look)
			}
		}
		if policy := res.Header.Get("Content-Security-Policy"); strings.Contains(body, "<link") ||
			strings.Contains(body, "<noscript") || !strings.Contains(policy, "frame-ancestors 'self'; sandbox") {
			t.Errorf("the preview loads something, or its policy is %s", policy)
		}
		for scheme, status := range map[string]int{"light": 200, "dark": 200, "grey": 404} {
			res, _ := o.owner.Get(t, path+"/branding/preview/"+scheme)
			want(t, scheme, res, status, "")
		}

		res, _ = o.owner.Upload(t, path, form, "brand_logo", polyglot)
		want(t, "save", res, 303, o.opens("branding"))
		look, err := o.App.Tenants.Brand(t.Context(), o.shop.Tenant.ID)
		if err != nil || look.Name != xss || look.Colour != "ffd400" || look.LogoHash == "" {
			t.Fatalf("saved %+v, %v", look, err)
		}
		for _, at := range []string{"/brand/", "/dashboard/logo/"} {
			res, logo := o.owner.Get(t, at+look.LogoHash+".png")
			if res.StatusCode != 200 || res.Header.Get("Content-Type") != "image/png" || strings.Contains(logo, "script") {
				t.Errorf("%s: the logo is not only a picture", at)
			}
		}
		if _, body := o.owner.Get(t, path); !strings.Contains(body, `src="/dashboard/logo/`+look.LogoHash+`.png"`) {
			t.Error("the dashboard does not show the logo from its own address")
		}
		res, _ = o.owner.Get(t, "/dashboard/logo/"+strings.Repeat("0", 32)+".png")
		want(t, "no logo", res, 404, "")
		for _, page := range []string{path, o.at("/audit")} {
			if _, body := o.owner.Get(t, page); strings.Contains(body, "<script>alert") ||
				strings.Contains(body, "<img src=x") || !strings.Contains(body, "&lt;script&gt;") {
				t.Errorf("%s: the name is markup, or missing", page)
			}
		}

		for name, tt := range map[string]struct {
			upload []byte
			status int
			text   string
		}{
			"svg": {[]byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`), 422,
				"is not a PNG, JPEG or WebP"},
			"html":       {[]byte("GIF89a<script>alert(1)</script>"), 422, "is not a PNG, JPEG or WebP"},
			"large":      {make([]byte, brand.MaxLogoBytes+1), 422, "is larger than 256 KiB"},
			"very large": {make([]byte, 40*brand.MaxLogoBytes), 422, "is larger than 256 KiB"},
		} {
			res, body := o.owner.Upload(t, path, form, "brand_logo", tt.upload)
			if got := problem(body, "brand_logo"); res.StatusCode != tt.status || !strings.Contains(got, tt.text) {
				t.Errorf("%s: %d %q", name, res.StatusCode, got)
			}
			for field := range typed {
				if !strings.Contains(html.UnescapeString(body), `name="`+field+`" type="`) ||
					!strings.Contains(html.UnescapeString(body), `value="`+form.Get(field)+`"`) {
					t.Errorf("%s: the page forgets what was typed into %s", name, field)
				}
			}
		}
		res, _ = o.owner.Upload(t, path, form, "brand_logo", make([]byte, 16<<20))
		want(t, "larger than the form", res, 413, "")
		res, _ = o.owner.Upload(t, path, url.Values{"help_url": {strings.Repeat("a", 64<<10)}}, "brand_logo", nil)
		want(t, "a long text", res, 413, "")
		if kept, _ := o.App.Tenants.Brand(t.Context(), o.shop.Tenant.ID); kept != look {
			t.Errorf("a refused logo changed the brand to %+v", kept)
		}
		without := url.Values{"brand_name": nil, "brand_colour": nil, "remove_logo": {"1"}}
		res, _ = o.owner.Upload(t, path, o.filled(t, o.owner, without),
			"brand_logo", nil)
		want(t, "remove", res, 303, o.opens("branding"))
		if kept, _ := o.App.Tenants.Brand(t.Context(), o.shop.Tenant.ID); kept != (brand.Brand{}) {
			t.Errorf("%+v is left", kept)
		}
		res, _ = o.developer.Upload(t, path, form, "brand_logo", picture(t))
		want(t, "a developer", res, 403, "")
	})
}
