package dashboard_test

import (
	"fmt"
	"html"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"

	xhtml "golang.org/x/net/html"
)

// xss is text that becomes markup or script wherever it is not escaped.
const xss = `"><script>alert(1)</script><img src=x onerror=alert(1)>'`

// staffed is a tenant with staff of every role, all recently confirmed.
type staffed struct {
	*gatewaytest.Gateway
	shop                     tenant.Credentials
	owner, developer, viewer *gatewaytest.Staff
}

func newStaffed(t *testing.T, g *gatewaytest.Gateway, edit func(*tenant.Tenant)) *staffed {
	t.Helper()
	o := &staffed{Gateway: g, shop: g.Shop(t, "https://hooks.example/agegate", edit)}
	for role, staff := range map[account.Role]**gatewaytest.Staff{
		account.Owner: &o.owner, account.Developer: &o.developer, account.Viewer: &o.viewer,
	} {
		*staff = g.SignIn(t, false, account.ByPasskey)
		g.Join(t, *staff, o.shop.Tenant.ID, role)
		g.StepUp(t, *staff)
	}
	return o
}

// at returns the address of one of the tenant's pages.
func (o *staffed) at(path string) string { return "/dashboard/" + o.shop.Tenant.ID.String() + path }

func (o *staffed) tenant(t *testing.T) tenant.Tenant {
	t.Helper()
	now, err := o.App.Tenants.Tenant(t.Context(), o.shop.Tenant.ID)
	if err != nil {
		t.Fatal(err)
	}
	return now
}

func (o *staffed) log(t *testing.T) []audit.Entry {
	t.Helper()
	entries, err := o.App.Store.AuditEntries(t.Context(), audit.Filter{Scope: audit.OfTenant(o.shop.Tenant.ID)})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// problem returns the problem that a page shows at a field.
func problem(body, field string) string {
	_, after, _ := strings.Cut(body, `href="#f-`+field+`">`)
	text, _, _ := strings.Cut(after, "</a>")
	return html.UnescapeString(text)
}

// filled returns the form of the settings as somebody's browser would send it, with
// these fields changed. Of a field without a value nothing is sent.
func (o *staffed) filled(t *testing.T, by *gatewaytest.Staff, changed url.Values) url.Values {
	t.Helper()
	_, body := by.Get(t, o.at("/settings"))
	page, err := xhtml.Parse(strings.NewReader(body[strings.Index(body, "<fieldset"):]))
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{}
	for n := range page.Descendants() {
		name, kind := attribute(n, "name"), attribute(n, "type")
		chosen := slices.ContainsFunc(n.Attr,
			func(a xhtml.Attribute) bool { return a.Key == "checked" || a.Key == "selected" })
		switch {
		case n.Data == "option" && chosen:
			form.Add(attribute(n.Parent, "name"), attribute(n, "value"))
		case n.Data == "input" && (kind != "checkbox" && kind != "file" || chosen) && name != "":
			form.Add(name, attribute(n, "value"))
		}
	}
	maps.Copy(form, changed)
	return form
}

// TestFormsChangeSettings: the form shows the stored values, changes those that were
// changed once however often it is sent, and writes a log entry that names the user and
// only what was changed. The answer opens the sections that were changed.
func TestFormsChangeSettings(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newStaffed(t, g, nil)
		path := o.at("/settings")
		for _, tt := range []struct {
			form    url.Values
			changed string
			set     func(tenant.Tenant) bool
			shown   string
			opens   string
		}{
			{url.Values{"document_check": {"1"}}, "document_check",
				func(t tenant.Tenant) bool { return t.DocumentCheck }, `type="checkbox" value="1" checked`, "document_check"},
			{url.Values{"ways": {"photo"}}, "document_ways",
				func(t tenant.Tenant) bool { return t.DocumentCheck && slices.Equal(t.DocumentWays, []string{"photo"}) },
				`value="photo" selected`, "document_check"},
			{url.Values{"ways": {"all"}, "document_check": nil, "only": {"1"}, "pid": {"1"}},
				"document_check document_only document_ways wallet_pid",
				func(t tenant.Tenant) bool { return t.DocumentWays == nil && !t.DocumentCheck }, `value="all" selected`,
				"document_check"},
			{url.Values{"age_visibility": {"1"}, "alert_below": {"40"}, "help_url": {"https://shop.example/help"}},
				"age_visibility help_url alert_below",
				func(t tenant.Tenant) bool { return t.AgeVisibility && *t.AlertBelow == 40 }, `value="40"`,
				"age_visibility branding alert"},
			{url.Values{"languages": {"fr", "de", "zh-Hans"}, "default": {"de"}}, "languages",
				func(t tenant.Tenant) bool { return slices.Equal(t.Languages, []string{"de", "fr", "zh-Hans"}) },
				`value="de" lang="de" selected`, "languages"},
			{url.Values{"margin": {"9,50"}}, "margins",
				func(t tenant.Tenant) bool { return slices.Equal(t.Margins, []string{"18=9.5"}) }, `value="9.5"`, "margins"},
			{url.Values{"target": {"16"}, "margin": {"7"}, "languages": tenant.Languages, "default": {"en"}},
				"margins languages", func(t tenant.Tenant) bool {
					return slices.Equal(t.Margins, []string{"16=7", "18=9.5"}) && t.Languages == nil
				}, "Target age 16", "margins languages"},
			{url.Values{"margin": {""}, "alert_below": {""}, "brand_name": {"Vin"}}, "margins alert_below brand_name",
				func(t tenant.Tenant) bool { return slices.Equal(t.Margins, []string{"16=7"}) && t.AlertBelow == nil },
				"Other target ages", "margins branding alert"},
		} {
			before := len(o.log(t))
			form := o.filled(t, o.owner, tt.form)
			for i, status := range []int{303, 409} {
				res, _ := o.owner.Post(t, path, form)
				location := o.opens(tt.opens)
				if status == 409 {
					location = ""
				}
				want(t, fmt.Sprintf("%v, time %d", tt.form, i+1), res, status, location)
			}
			if !tt.set(o.tenant(t)) {
				t.Errorf("%v did not set it", tt.form)
			}
			log := o.log(t)
			if len(log) != before+1 || log[0].Actor != audit.User(o.owner.User.ID, o.owner.User.Name) {
				t.Fatalf("%v: the log has %d new entries, the last is %+v", tt.form, len(log)-before, log[0])
			}
			var names []string
			for _, change := range log[0].Details().Changes {
				names = append(names, change.Setting)
			}
			if got := strings.Join(names, " "); got != tt.changed {
				t.Errorf("%v: the log names %s, want %s", tt.form, got, tt.changed)
			}
			if _, page := o.owner.Get(t, path); !strings.Contains(page, tt.shown) {
				t.Errorf("after %v the page does not show %s", tt.form, tt.shown)
			}
		}
	})
}

// TestSettingsOfAnotherAreNotLost: who saves a page that somebody else has overtaken is
// told, once, and what was typed stays.
func TestSettingsOfAnotherAreNotLost(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newStaffed(t, g, nil)
		late := o.filled(t, o.owner, url.Values{"brand_name": {"Late"}})
		res, _ := o.owner.Post(t, o.at("/settings"), o.filled(t, o.owner, url.Values{"age_visibility": {"1"}}))
		want(t, "the first", res, 303, o.opens("age_visibility"))
		res, body := o.owner.Post(t, o.at("/settings"), late)
		if want(t, "the late one", res, 422, ""); !strings.Contains(body, "Somebody else saved settings") ||
			!strings.Contains(body, `value="Late"`) || !o.tenant(t).AgeVisibility {
			t.Error("a late page is not told of the other, or has undone it")
		}
		if strings.Count(body, "somebody else changed this") != 2 || !strings.Contains(body, `id="p-age_visibility"`) {
			t.Errorf("the page does not name what the other changed: %s", problems(body))
		}
		late.Set("nonce", nonceOf(t, body[strings.Index(body, "<fieldset"):]))
		late.Set("seen", between(t, body, `name="seen" value="`, `"`))
		res, _ = o.owner.Post(t, o.at("/settings"), late)
		if want(t, "again", res, 303, o.opens("age_visibility branding")); o.tenant(t).AgeVisibility {
			t.Error("saving again does not replace the other's")
		}
	})
}

// TestFormWhoseChangeFailed: sending the form again does nothing, and does not
// claim that the change was made.
func TestFormWhoseChangeFailed(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newStaffed(t, g, nil)
		path := o.at("/settings")
		form := o.filled(t, o.owner, url.Values{"age_visibility": {"1"}})
		g.Exec(t, "ALTER TABLE audit_entries RENAME TO gone")
		res, _ := o.owner.Post(t, path, form)
		want(t, "a change that fails", res, 500, "")
		g.Exec(t, "ALTER TABLE gone RENAME TO audit_entries")
		res, body := o.owner.Post(t, path, form)
		want(t, "sent again", res, 409, "")
		if o.tenant(t).AgeVisibility || !strings.Contains(body, "check whether the change was made") {
			t.Errorf("the page of a form whose change failed says it was made:\n%s", body)
		}
		res, _ = o.owner.Post(t, path, o.filled(t, o.owner, url.Values{"age_visibility": {"1"}}))
		if want(t, "opened anew", res, 303, o.opens("age_visibility")); !o.tenant(t).AgeVisibility {
			t.Error("the form opened again does not work")
		}
	})
}

// TestFormsAnswerByField: errors appear at their fields, with what was typed, and
// nothing changes.
func TestFormsAnswerByField(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	o := newStaffed(t, g, nil)
	before, logged := o.tenant(t), len(o.log(t))
	for _, tt := range []struct {
		path, field, value, problem string
	}{
		{"/settings/urls", "success_url", "shop.example/done", "Success URL: is not a complete address"},
		{"/settings/urls", "success_url", "localhost:19190/cart", "has to begin with https:// or http://: put"},
		{"/settings/urls", "success_url", "ftp://shop.example/", "put that before the host, and leave the rest"},
		{"/settings/urls", "cancel_url", "ftp://shop.example/", "Cancel URL: has to begin with https:// or http://"},
		{"/settings/urls", "success_url", "https://ada:pw@shop.example/", "must not contain a user name"},
		{"/settings/urls", "success_url", "https://bücher.example/", "punycode"},
		{"/settings/urls", "webhook_url", "https://shop.example/#top", "must not have a fragment"},
		{"/settings/urls", "success_url", "https://shop.example/" + strings.Repeat("a", 2048),
			"more than 2,048 characters"},
		{"/settings/urls", "success_url", xss, "is not a complete address"},
		{"/settings/urls/save", "success_url", xss, "is not a complete address"},
		{"/settings", "brand_colour", "red", "six hex digits"},
		{"/settings", "brand_colour", xss, "six hex digits"},
		{"/settings", "brand_name", "A\u202eB", "invisible characters"},
		{"/settings", "privacy_url", "javascript:alert(1)", "has to begin with https://"},
		{"/settings", "privacy_url", "http://shop.dk/privat", "https://, because shoppers open it; http:// is for localhost"},
		{"/settings", "default", "de", "Default language: has to be one of the offered"},
		{"/settings", "languages", "xx", "contains one that the page does not have"},
		{"/settings", "target", "12", "from 13 to 60"},
		{"/settings", "target", "61", "from 13 to 60"},
		{"/settings", "target", "", "is needed"},
		{"/settings", "margin", "6.9", "Margin in years: Enter years from 7 to 50; the operator"},
		{"/settings", "margin", "51", "from 7 to 50"},
		{"/settings", "margin", "NaN", "from 7 to 50"},
		{"/settings", "margin", "-1", "from 7 to 50"},
		{"/settings", "margin", "<b>", "from 7 to 50"},
		{"/settings", "margin", "9999999", "at most 6 characters"},
		{"/settings", "ways", "fax", "is not one of the choices"},
		{"/settings", "ways", "", "is needed"},
		{"/settings", "alert_below", "-1", "a whole number from 0"},
		{"/settings", "alert_below", "1000000001", "a whole number from 0"},
		{"/settings", "alert_below", "99999999999999999999", "at most 13 characters"},
		{"/settings", "alert_below", "many", "a whole number from 0"},
	} {
		form := o.filled(t, o.owner, url.Values{"languages": {"fr"}, "default": {"fr"}, "help_url": {"http://a.example/"}})
		if tt.field == "languages" {
			form.Set("default", tt.value)
		}
		form.Set(tt.field, tt.value)
		res, body := o.owner.Post(t, o.at(tt.path), form)
		if got := problem(body, tt.field); res.StatusCode != 422 || !strings.Contains(got, tt.problem) {
			t.Errorf("%s %s=%.40q: %d %q, want %q", tt.path, tt.field, tt.value, res.StatusCode, got, tt.problem)
		}
		if got := problem(body, "help_url"); tt.path == "/settings" && !strings.Contains(got, "has to begin with https://") {
			t.Errorf("%s=%.40q: the other fault is not named at once: %q", tt.field, tt.value, got)
		}
		if tt.field != "languages" && tt.field != "ways" && tt.field != "default" &&
			!strings.Contains(html.UnescapeString(body), `value="`+tt.value+`"`) {
			t.Errorf("%s %s=%.40q: the page forgets what was typed", tt.path, tt.field, tt.value)
		}
		if strings.Contains(body, "<script>alert") || strings.Contains(body, "<img src=x") {
			t.Errorf("%s %s: what was typed is markup", tt.path, tt.field)
		}
	}
	res, body := o.owner.Post(t, o.at("/settings"), o.filled(t, o.owner, url.Values{"languages": nil}))
	if got := problem(body, "languages"); res.StatusCode != 422 || !strings.Contains(got, "choose at least one") {
		t.Errorf("no language: %d %q", res.StatusCode, got)
	}
	if after := o.tenant(t); fmt.Sprint(after) != fmt.Sprint(before) || len(o.log(t)) != logged {
		t.Errorf("a refused form changed %+v to %+v", before, after)
	}
	if strings.Contains(g.Log.String(), "alert(1)") {
		t.Error("the log has what was typed")
	}
}

// TestURLChangeIsReviewed: the page before the change lists what breaks, and
// saves nothing.
func TestURLChangeIsReviewed(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newStaffed(t, g, nil)
		g.Create(t, o.shop.Test.APIKey, 18)
		g.Do(t, gatewaytest.Row{
			Name: "with a path on a host to be removed", Path: "/api/v1/sessions/create", Key: o.shop.Test.APIKey,
			Body: `{"target_age": 18, "success_url": "https://hooks.example/thanks"}`, Status: 201,
		})
		form := url.Values{
			"success_url": {"https://shop.example/new"}, "cancel_url": {"http://localhost:3000/back"},
			"webhook_url": {"https://new.example:8443/hook"},
		}
		before := o.tenant(t)
		_, typing := o.developer.Get(t, o.at("/settings/urls"))
		if !strings.Contains(typing, `value="`+before.SuccessURL+`"`) {
			t.Error("the page does not have the stored URL")
		}
		res, body := o.developer.Post(t, o.at("/settings/urls"), form)
		want(t, "review", res, 200, "")
		for _, effect := range []string{
			"Sessions created with a URL on hooks.example will be refused",
			"1 session created in the last 7 days would have been refused",
			"name any path on new.example:8443", "name any path on localhost:3000", "new sessions go to new.example:8443",
			"2 open sessions keep the webhook URL", "leads shoppers to their own devices", "keep all their URLs",
		} {
			if !strings.Contains(body, effect) {
				t.Errorf("the review lacks %q", effect)
			}
		}
		if !strings.Contains(body, "<small>Before:</small> <del>") ||
			!strings.Contains(body, "<small>After:</small> <code>") {
			t.Error("the review does not say which URL is the old one")
		}
		back := url.Values{"edit": {"1"}}
		for name := range form {
			back[name] = form[name]
		}
		_, again := o.developer.Post(t, o.at("/settings/urls"), back)
		if !strings.Contains(body, `data-testid="edit"`) ||
			!strings.Contains(again, `data-testid="review"`) || !strings.Contains(again, form.Get("webhook_url")) {
			t.Error("the review does not lead back to the typed URLs")
		}
		if o.tenant(t).WebhookURL != before.WebhookURL {
			t.Error("the review has changed the URL")
		}
		form.Set("nonce", nonceOf(t, body))
		for _, step := range []struct {
			status   int
			location string
		}{{303, o.opens("urls")}, {409, ""}} {
			res, _ = o.developer.Post(t, o.at("/settings/urls/save"), form)
			want(t, "save", res, step.status, step.location)
		}
		res, body = o.viewer.Get(t, o.at("/settings"))
		want(t, "the settings", res, 200, "")
		for _, shown := range []string{"https://new.example:8443/hook", "allows new.example:8443", "allows localhost:3000",
			"leads to this computer only"} {
			if !strings.Contains(body, shown) {
				t.Errorf("the settings lack %q", shown)
			}
		}
		res, _ = o.developer.Post(t, o.at("/settings/urls"), form)
		want(t, "nothing to change", res, 303, o.opens("urls"))
		form.Set("webhook_url", "https://192.168.7.7/hook")
		_, body = o.developer.Post(t, o.at("/settings/urls"), form)
		if !strings.Contains(body, "not a public address") || strings.Contains(body, "AGEGATE_") {
			t.Error("before a private address is saved, the review does not warn, or names a setting of the operator's")
		}
		form.Set("webhook_url", "https://-shop.example/hook") // no name server is asked
		_, body = o.developer.Post(t, o.at("/settings/urls"), form)
		if !strings.Contains(body, "No name server knows the host") || !strings.Contains(body, `data-testid="save"`) {
			t.Error("before the URL of a host that does not exist is saved, the review does not warn, or refuses it")
		}
		form.Set("success_url", "")
		form.Set("webhook_url", "")
		_, body = o.developer.Post(t, o.at("/settings/urls"), form)
		for _, effect := range []string{"Sessions created without a success URL will be refused",
			"New sessions will not send a webhook"} {
			if !strings.Contains(body, effect) {
				t.Errorf("the review lacks %q", effect)
			}
		}
		_, body = o.developer.Get(t, o.at("/test"))
		if !strings.Contains(body, `/settings/urls?from=overview" data-testid="todo-`) {
			t.Error("the checklist does not say to the page of the URLs from where it leads there")
		}
		_, body = o.developer.Post(t, o.at("/settings/urls?from=overview"), form)
		if !strings.Contains(body, o.at("/settings/urls/save?from=overview")) {
			t.Error("the review forgets from where the user came")
		}
		if log := o.log(t); !strings.Contains(string(log[0].Detail), "new.example:8443") ||
			strings.Contains(string(log[0].Detail), "/hook") {
			t.Errorf("the log has %s", log[0].Detail)
		}
		form.Set("nonce", nonceOf(t, body))
		res, _ = o.developer.Post(t, o.at("/settings/urls/save?from=overview"), form)
		want(t, "save for the checklist", res, 303, o.at("/test"))
	})
}
