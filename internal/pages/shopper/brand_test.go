package shopper

import (
	"bytes"
	"compress/gzip"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"agegate/internal/check/age"
	"agegate/internal/check/document/photo"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/brand"
	"agegate/internal/rules/tenant"
)

func (f *fixture) set(c tenant.Changes) {
	f.t.Helper()
	_, err := f.tenants.Update(f.t.Context(), audit.System("test"), f.tenant.ID, c)
	must(f.t, err)
}

func contains(t *testing.T, body string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q:\n%s", want, body)
		}
	}
}

func TestOperatorIsNamed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	if page := f.browser().get(f.session(true)).body; strings.Contains(page, `data-testid="operator"`) ||
		strings.Count(page, `target="_blank"`) != 1 {
		t.Error("a gateway without settings shows an operator, or links besides its own page on privacy")
	}
	f.pages.cfg.Operator = Operator{Name: "Checks <&> Co", Imprint: "https://age.example/imprint",
		Links: tenant.Links{PrivacyURL: "https://age.example/privacy?a=1&b=2", HelpURL: "https://age.example/help"}}
	link := f.session(true)
	contains(t, f.browser().get(link).body, "Checks &lt;&amp;&gt; Co runs this check for Corner Shop.",
		`<a href="https://age.example/privacy?a=1&amp;b=2" target="_blank" rel="noopener noreferrer" data-testid="privacy">`,
		`<a href="https://age.example/help" target="_blank" rel="noopener noreferrer" data-testid="help">`)

	// A shop that runs its own gateway is not said to check for itself.
	f.pages.cfg.Operator.Name = "Corner Shop"
	if strings.Contains(f.browser().get(link).body, `data-testid="operator"`) {
		t.Error("the page says that a shop runs the check for itself")
	}

	// Each link of the tenant takes precedence over the operator's.
	own, terms := "https://shop.example/privacy", "https://shop.example/terms"
	f.set(tenant.Changes{PrivacyURL: &own, TermsURL: &terms})
	page := f.browser().get(link).body
	contains(t, page, `href="https://shop.example/privacy"`, `href="https://age.example/help"`,
		`href="https://shop.example/terms"`, `href="https://age.example/imprint"`)
	if strings.Contains(page, "age.example/privacy") {
		t.Error("two privacy notices")
	}
	// A page without a session has only the operator's links.
	a := f.browser().get(f.server.URL + "/v/" + strings.Repeat("x", 43))
	contains(t, a.body, `href="https://age.example/help"`)
}

func testLogo(t *testing.T) []byte {
	t.Helper()
	picture := image.NewNRGBA(image.Rect(0, 0, 20, 10))
	picture.Set(1, 1, color.NRGBA{R: 200, A: 255})
	var b bytes.Buffer
	must(t, png.Encode(&b, picture))
	return b.Bytes()
}

func TestBrandIsShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	name, colour, logo := "Vin & Øl", "#FFD400", testLogo(t)
	f.set(tenant.Changes{Brand: &tenant.BrandChanges{Name: &name, Colour: &colour, Logo: &logo}})
	look, err := f.tenants.Brand(t.Context(), f.tenant.ID)
	must(t, err)
	sheet, picture := stylesheetOf("ffd400"), "/brand/"+look.LogoHash+".png"
	link := f.session(false)
	shopper := f.browser()
	page := shopper.get(link)
	contains(t, page.body, "Vin &amp; Øl learns whether and how", `<link rel="stylesheet" href="`+sheet+`">`,
		`<img src="`+picture+`" alt="Vin &amp; Øl">`)
	if strings.Contains(page.body, "Corner Shop") {
		t.Error("the tenant's name is shown, too")
	}
	if strings.Contains(page.Header.Get("Content-Security-Policy"), "unsafe") {
		t.Error("the policy was weakened")
	}
	for path, kind := range map[string]string{sheet: "text/css; charset=utf-8", picture: "image/png"} {
		a := shopper.get(f.server.URL + path)
		h := a.Header
		if a.StatusCode != http.StatusOK || h.Get("Content-Type") != kind ||
			!strings.Contains(h.Get("Cache-Control"), "immutable") || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", path, a.StatusCode, h)
		}
	}
	if got := shopper.get(f.server.URL + sheet).body; got != brand.Colour("ffd400").CSS() {
		t.Errorf("the style sheet is %q", got)
	}
	if _, err := png.Decode(strings.NewReader(shopper.get(f.server.URL + picture).body)); err != nil {
		t.Errorf("the logo is no PNG: %v", err)
	}

	f.set(tenant.Changes{Brand: tenant.ClearedBrand()})
	page = shopper.get(link)
	contains(t, page.body, "Corner Shop learns whether and how", `<header class="shop">Corner Shop</header>`)
	if strings.Contains(page.body, "/brand/") {
		t.Error("a cleared brand is still shown")
	}
	if a := shopper.get(f.server.URL + picture); a.StatusCode != http.StatusNotFound {
		t.Errorf("a cleared logo is answered with %d", a.StatusCode)
	}
}

func TestUnknownBrandFiles(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	for _, name := range []string{"x.png", ".png", "ffd400", "ffd400.png", "red-0.css", ".css", "-.css", "ffd400;-0.css",
		"%2e%2e", "ffd40-0.css"} {
		if a := f.browser().get(f.server.URL + "/brand/" + name); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", name, a.StatusCode)
		}
	}
	// A name from another version for a colour gets this version's style sheet,
	// uncached.
	a := f.browser().get(f.server.URL + "/brand/ffd400-" + strings.Repeat("0", 32) + ".css")
	if a.StatusCode != http.StatusOK || strings.Contains(a.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("%d %s", a.StatusCode, a.Header.Get("Cache-Control"))
	}
}

// A pass is shown after the camera and then redirects. The link itself redirects
// at once, as a forced result and a browser without scripts need.
func TestAPassIsShownForAMoment(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted(stepBegun, verdict(age.VerdictMet, 40)))
	link := f.session(true)
	shopper := f.browser()
	shopper.post(link+"/start", nil)
	c := shopper.camera(link)
	c.read()
	for seq := range uint32(2) {
		c.send(frame(scriptNonce, seq))
		c.read()
	}
	for _, path := range []string{"/camera", "/handover"} {
		a := shopper.get(link + path)
		a.shows(t, http.StatusOK, "screen-onward")
		contains(t, a.body, "Age confirmed", `data-link="`+strings.TrimPrefix(link, f.server.URL)+`"`)
	}
	a := shopper.get(link)
	if a.StatusCode != http.StatusSeeOther || !strings.HasPrefix(a.Header.Get("Location"), "https://shop.example/done?") {
		t.Errorf("the link answers %d %s", a.StatusCode, a.Header.Get("Location"))
	}
	// Another browser does not see the result.
	f.browser().get(link+"/camera").leadsTo(t, strings.TrimPrefix(link, f.server.URL))
}

func TestPagesAreCompressed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	link := f.session(true)
	shopper := f.browser()
	plain := shopper.get(link)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
	must(t, err)
	req.Header.Set("Accept-Encoding", "gzip")
	a := shopper.do(req)
	if a.Header.Get("Content-Encoding") != "gzip" || !strings.Contains(a.Header.Get("Vary"), "Accept-Encoding") {
		t.Fatalf("not compressed: %v", a.Header)
	}
	unpacked, err := gzip.NewReader(strings.NewReader(a.body))
	must(t, err)
	body, err := io.ReadAll(unpacked)
	if err != nil || string(body) != plain.body {
		t.Errorf("another page when compressed: %v", err)
	}
	if len(a.body) > len(plain.body)/2 {
		t.Errorf("%d bytes of %d", len(a.body), len(plain.body))
	}
}

// TestEveryStepNamesTheShop: who was sent to another address by a shop sees for whom each step is, in one place.
func TestEveryStepNamesTheShop(t *testing.T) {
	t.Parallel()
	f := filmed(t, photo.Passed)
	link, b := f.session(false), f.browser()
	steps := map[string]answer{"the choice": b.get(link)}
	b.post(link+"/start", url.Values{"choice": {"camera"}})
	steps["the camera"] = b.get(link)
	steps["the document"] = b.get(link + "?force=fallback")
	b.post(link+"/document", url.Values{"choice": {"photo"}})
	steps["the photograph"] = b.get(link + "/photo")
	b.post(link+"/document", url.Values{"choice": {"decline"}})
	steps["the ending"] = b.get(link)
	for step, a := range steps {
		if a.StatusCode != http.StatusOK || !strings.Contains(a.body, `<header class="shop">Corner Shop</header>`) {
			t.Errorf("%s: %d\n%s", step, a.StatusCode, a.body)
		}
	}
}
