package dashboard_test

import (
	"net/url"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/tenant"
)

// opens returns the address of the page of settings with sections open, separated by spaces.
func (o *staffed) opens(sections string) string {
	all := strings.Join(strings.Fields(sections), ",")
	return o.at("/settings?open=" + all + "#" + all)
}

// TestSavedSectionIsInView: the notice stands in the only section that was saved, whose heading takes the focus and is
// described by it, and of several above them all. Of a form with a fault, the sections that have one are open and no
// others.
func TestSavedSectionIsInView(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newStaffed(t, g, nil)
		res, _ := o.owner.Post(t, o.at("/settings"), o.filled(t, o.owner, url.Values{"alert_below": {"7"}}))
		_, body := o.owner.Get(t, res.Header.Get("Location"))
		_, after, _ := strings.Cut(body, `open><summary id="alert" aria-describedby="saved">`)
		if strings.Count(body, `data-testid="notice"`) != 1 || !strings.Contains(after, `<div id="saved"><p class="notice"`) {
			t.Error("the notice is not in the section that was saved")
		}
		if strings.Contains(body, `data-testid="saved-sections"`) {
			t.Error("the only section that was saved is named")
		}
		res, _ = o.owner.Post(t, o.at("/settings"), o.filled(t, o.owner, url.Values{"alert_below": {"8"}, "margin": {"9"}}))
		_, body = o.owner.Get(t, res.Header.Get("Location")+"&lang=en")
		if named := testID(t, body, "saved-sections"); named != "Margins · Low-balance alert" {
			t.Errorf("of two sections that were saved the page names %q", named)
		}
		before, _, _ := strings.Cut(body, `enctype="multipart/form-data"`)
		if strings.Count(body, `data-testid="notice"`) != 1 ||
			!strings.Contains(before, `data-testid="notice"`) || strings.Contains(body, `id="saved"`) {
			t.Error("of two sections that were saved, the notice is not at the top of the page")
		}
		res, _ = o.owner.Post(t, o.at("/settings"), o.filled(t, o.owner, nil))
		want(t, "nothing changed", res, 303, o.at("/settings"))
		if _, body = o.owner.Get(t, o.at("/settings")); !strings.Contains(body, `data-testid="notice"`) {
			t.Error("a form without changes is not said to be saved")
		}
		_, body = o.owner.Post(t, o.at("/settings"),
			o.filled(t, o.owner, url.Values{"alert_below": {"-1"}, "brand_name": {"Vin"}}))
		for _, s := range []string{"document_check", "age_visibility", "margins", "languages", "branding", "alert"} {
			open := strings.Contains(body, `<details class="part" open><summary id="`+s+`"`)
			if open != (s == "alert") {
				t.Errorf("after a fault %s is open: %t", s, open)
			}
		}
	})
}

// TestSettingsThatNobodyCanPass: who saves settings with which nobody can pass a live check reads so at once, and
// the closed row says which documents are taken, and when.
func TestSettingsThatNobodyCanPass(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newStaffed(t, g, nil)
		for _, tt := range []struct { // the second adds to the first
			row    string
			change url.Values
		}{
			{"Instead of the camera, or after a refusal", url.Values{"document_check": {"1"}}},
			{"Documents only · With a wallet only", url.Values{"only": {"1"}, "ways": {"wallet"}}},
		} {
			row, change := tt.row, tt.change
			res, _ := o.owner.Post(t, o.at("/settings"), o.filled(t, o.owner, change))
			_, body := o.owner.Get(t, res.Header.Get("Location")+"&lang=en")
			if !strings.Contains(body, `<h2>Document check</h2> <span class="muted">`+row+"</span>") {
				t.Errorf("the row does not say %q", row)
			}
			closed := testID(t, body, "closed") // the camera is off here
			if strings.Contains(closed, "your settings take documents only") != change.Has("only") {
				t.Errorf("%s: it is said of those who can pass: %s", row, closed)
			}
		}
	})
}

// TestSettingsByRole: who may change nothing sees the settings without a way to change
// them, and each section's old address leads to it. The callback URLs have a page of
// their own, so that one button saves all that can be typed on this one.
func TestSettingsByRole(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	o := newStaffed(t, g, func(t *tenant.Tenant) { t.Links.HelpURL = "https://shop.example/help" })
	weak := g.SignIn(t, false)
	g.Join(t, weak, o.shop.Tenant.ID, account.Owner)
	weakViewer := g.SignIn(t, false) // whom a second factor would not help
	g.Join(t, weakViewer, o.shop.Tenant.ID, account.Viewer)
	for name, tt := range map[string]struct {
		by         *gatewaytest.Staff
		save, urls bool
	}{
		"owner": {o.owner, true, true}, "developer": {o.developer, false, true}, "viewer": {o.viewer, false, false},
		"weak": {weak, false, false}, "weak viewer": {weakViewer, false, false},
	} {
		_, body := tt.by.Get(t, o.at("/settings"))
		notice := `>Settings are read-only until you log in with a second factor. <a href="/dashboard/account">`
		before, _, second := strings.Cut(body, notice)
		if second != (name == "weak") || second && strings.Contains(before, "<summary id=") {
			t.Errorf("%s: the page asks for a second factor: %t", name, second)
		}
		for what, wanted := range map[string]bool{`data-testid="save"`: tt.save, "<fieldset disabled>": !tt.save,
			`name="preview"`: tt.save, o.at("/settings/urls") + `"`: tt.urls, `name="success_url"`: false,
			`data-testid="margins-now"`:             true,
			">https://shop.example/help</textarea>": !tt.save} {
			if strings.Contains(body, what) != wanted {
				t.Errorf("%s: the page has %s: %t", name, what, !wanted)
			}
		}
	}
	for _, name := range []string{"document-check", "age-visibility", "margins", "languages", "branding", "alert"} {
		res, _ := o.owner.Get(t, o.at("/settings/"+name)+"?mode=live")
		place := strings.ReplaceAll(name, "-", "_")
		to := o.at("/settings") + "?mode=live&open=" + place
		want(t, name, res, 303, to+"#"+place)
		_, body := o.owner.Get(t, to)
		if n := strings.Count(body, `<details class="part" open>`); n != 1 ||
			!strings.Contains(body, `<details class="part" open><summary id="`+place+`"`) {
			t.Errorf("%s: the page opens %d sections, or another one", place, n)
		}
	}
}
