package wordpress

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"agegate/internal/gatewaytest"
)

// parts gates two categories and a page, with further settings.
func (s *site) parts(t *testing.T, more string) {
	t.Helper()
	s.set(t, fmt.Sprintf(`{"terms":[%d,%d],"posts":[%d]%s}`, s.ids.Terms[0], s.ids.Terms[1], s.ids.Page, more))
}

// sees reports whether a browser is shown the gated page.
func (v *visitor) sees() bool {
	v.t.Helper()
	res := v.get("/cellar/")
	shown := strings.Contains(res.body, secretText)
	if shown != (res.status == http.StatusOK) || res.header.Get("Cache-Control") != "private, no-store" {
		v.t.Errorf("the gated page is answered %d, %q", res.status, res.header["Cache-Control"])
	}
	return shown
}

// logIn logs a member of the site in.
func (v *visitor) logIn(name string) {
	v.t.Helper()
	v.get("/wp-login.php")
	res := v.do(http.MethodPost, "/wp-login.php", url.Values{"log": {name}, "pwd": {"a passphrase 1"},
		"testcookie": {"1"}})
	if res.status != http.StatusFound {
		v.t.Fatalf("the log-in of %s is answered %d %s", name, res.status, res.body)
	}
}

// begun is how many sessions the gateway has.
func (s *site) begun(t *testing.T) int { return s.Count(t, "sessions") }

// TestFlow: a pass is got by a check in this browser alone, once, and belongs to this
// site, age and mode.
func TestFlow(t *testing.T) {
	s := startSite(t)
	s.activate(t, true)
	for _, part := range []struct {
		name string
		test func(*testing.T, *site)
	}{
		{"try", testTry}, {"return", testReturn}, {"forgeries", testForgeries}, {"bound", testBound}, {"button", testButton},
		{"limits", testLimits}, {"account", testAccount}, {"webhook", testWebhook}, {"checkout", testCheckout},
		{"uploads", testUploads}, {"blocks", testBlocks},
		{"settings", testSettings}, {"German", testGerman}, {"uninstall", testUninstall},
	} {
		t.Run(part.name, func(t *testing.T) {
			s.parts(t, "")
			part.test(t, s)
		})
	}
	s.complains(t)
}

func testReturn(t *testing.T, s *site) {
	v := s.visitor(t)
	if v.sees() || v.get("/?agegate=auth").status != http.StatusForbidden {
		t.Error("shown without a pass")
	}
	before := s.begun(t)
	hosted := v.press("/cellar/")
	if again := v.press("/cellar/"); again != hosted || s.begun(t) != before+1 {
		t.Errorf("a second press leads to %s, and not to %s", again, hosted)
	}
	back := v.force(hosted, "verified")
	for range 2 { // a reload of the return goes on too
		if res := v.get(back); res.status != http.StatusSeeOther || res.location != "/cellar/" ||
			res.header.Get("Cache-Control") != "private, no-store" {
			t.Errorf("the return is answered %d %q", res.status, res.location)
		}
	}
	if !v.sees() || v.get("/?agegate=auth").status != http.StatusNoContent {
		t.Error("not shown with a pass")
	}
	if res := v.get("/"); res.header.Get("Cache-Control") != "private, no-store" || !strings.Contains(res.body,
		secretText) {
		t.Errorf("a list with gated text may be stored: %q", res.header["Cache-Control"])
	}
	if res := s.visitor(t).get("/"); res.header.Get("Cache-Control") != "" || strings.Contains(res.body, secretText) {
		t.Errorf("the list that all may see is answered %q", res.header["Cache-Control"])
	}
	refused := s.visitor(t)
	if to := refused.force(refused.press("/cellar/"), "fallback"); strings.Contains(to, "agegate=return") ||
		refused.sees() {
		t.Errorf("who was refused is sent to %q", to)
	}
	next := refused.press("/cellar/") // an ended session is no longer the open one
	if refused.get(refused.force(next, "verified")); !refused.sees() {
		t.Error("no pass after a second check")
	}
}

func testForgeries(t *testing.T, s *site) {
	s.parts(t, `,"webhook":""`) // the return alone gives the pass
	v := s.visitor(t)
	back := v.force(v.press("/cellar/"), "verified")
	visit := s.visitor(t) // a copy of the browser before the return
	visit.Jar.SetCookies(v.base(), v.Jar.Cookies(v.base()))
	another := s.visitor(t)
	another.press("/cellar/")
	for what, tt := range map[string]struct {
		by *visitor
		to string
	}{
		"another browser":            {s.visitor(t), back},
		"a browser of another visit": {another, back},
		"a changed token":            {v, strings.Replace(back, "token=", "token=1", 1)},
		"a doubled status":           {v, back + "&status=VERIFIED"},
		"a doubled token":            {v, back + "&token=" + back[strings.Index(back, "token=")+6:]},
		"a list":                     {v, strings.Replace(back, "is_adult=", "is_adult[]=", 1)},
		"another status":             {v, strings.Replace(back, "VERIFIED", "verified", 1)},
		"nothing":                    {v, s.url + "/?agegate=return"},
	} {
		if res := tt.by.get(tt.to); res.status != http.StatusForbidden || tt.by.sees() {
			t.Errorf("%s is answered %d", what, res.status)
		}
	}
	if v.get(back); !v.sees() {
		t.Error("the true return gives no pass")
	}
	if res := visit.get(back); res.status != http.StatusForbidden || visit.sees() {
		t.Errorf("a replay is answered %d", res.status)
	}
	for _, pass := range v.Jar.Cookies(v.base()) {
		if !strings.HasPrefix(pass.Name, "agegate_pass") {
			continue
		}
		for _, value := range []string{"", "1", pass.Value + "0", "9" + pass.Value, pass.Value[:len(pass.Value)-1]} {
			thief := s.visitor(t)
			thief.Jar.SetCookies(v.base(), []*http.Cookie{{Name: pass.Name, Value: value, Path: "/"}})
			if thief.sees() {
				t.Errorf("the pass %q is taken", value)
			}
		}
	}
}

func (v *visitor) base() *url.URL {
	base, err := url.Parse(v.site)
	if err != nil {
		v.t.Fatal(err)
	}
	return base
}

func testBound(t *testing.T, s *site) {
	v := s.visitor(t)
	v.pass()
	live := fmt.Sprintf(`,"key":%q,"redirect":%q`, s.shop.Live.APIKey, s.shop.Live.RedirectSecret)
	for what, more := range map[string]string{"another age": `,"age":21`, "another mode": live,
		"a shorter time": `,"keep":1`} {
		s.parts(t, more)
		if v.sees() {
			t.Errorf("%s: the pass counts", what)
		}
	}
	s.parts(t, "")
	for _, change := range []string{`update_option("agegate_secret", strrev(get_option("agegate_secret")));`,
		`update_option("home", get_option("home") === getenv("SITE") ? "http://other.example" : getenv("SITE"));`} {
		s.wp(t, change)
		if v.sees() {
			t.Errorf("the pass counts after %s", change)
		}
		s.wp(t, change)
		if !v.sees() {
			t.Errorf("the pass does not count again after %s", change)
		}
	}
}

func testButton(t *testing.T, s *site) {
	before := s.begun(t)
	v := s.visitor(t)
	form := url.Values{"to": {"/"}}
	for what, res := range map[string]answer{
		"an address":   v.get("/?agegate=begin"),
		"another site": v.do(http.MethodPost, "/?agegate=begin", form, "Origin: https://evil.example"),
		"no origin":    v.do(http.MethodPost, "/?agegate=begin", form, "Origin: null"),
		"cross-site":   v.do(http.MethodPost, "/?agegate=begin", form, "Sec-Fetch-Site: cross-site"),
	} {
		if res.status != http.StatusForbidden {
			t.Errorf("%s is answered %d %s", what, res.status, res.location)
		}
	}
	if s.begun(t) != before {
		t.Error("sessions were begun without a press")
	}
	for _, to := range []string{"//evil.example/", "https://evil.example/", `/\evil.example`, "javascript:alert(1)",
		"\t//evil.example"} {
		v := s.visitor(t)
		res := v.get(v.force(v.press(to), "verified"))
		if target, err := url.Parse(res.location); err != nil || target.Host != "" && target.Host != v.base().Host ||
			strings.HasPrefix(res.location, "//") {
			t.Errorf("%q leads to %q", to, res.location)
		}
	}
}

func testLimits(t *testing.T, s *site) {
	for _, limit := range []string{`"network":3,"limit":1000`, `"network":1000,"limit":3`} {
		s.wp(t, `$GLOBALS["wpdb"]->query("DELETE FROM wp_agegate WHERE k = 'all' OR k LIKE 'n:%'");`)
		s.parts(t, ","+limit)
		before := s.begun(t)
		var presses sync.WaitGroup
		answers := make([]int, 20)
		for i := range answers {
			presses.Go(func() {
				answers[i] = s.visitor(t).do(http.MethodPost, "/?agegate=begin", url.Values{"to": {"/"}}).status
			})
		}
		presses.Wait()
		if made := s.begun(t) - before; made != 3 {
			t.Errorf("%s: 20 presses at once begin %d sessions: %v", limit, made, answers)
		}
	}
	s.wp(t, `$GLOBALS["wpdb"]->query("UPDATE wp_agegate SET until = 1");`)
	s.visitor(t).press("/") // when the time is over, the limit counts from zero again
	if left := strings.TrimSpace(s.wp(t, `$GLOBALS["wpdb"]->query("UPDATE wp_agegate SET until = 1");
		do_action("agegate_clean"); echo $GLOBALS["wpdb"]->get_var("SELECT count(*) FROM wp_agegate");`)); left != "0" {
		t.Errorf("%s rows that have ended are kept", left)
	}
}

func testAccount(t *testing.T, s *site) {
	const days = `,"account":30`
	s.parts(t, days)
	v := s.visitor(t)
	v.logIn("member")
	v.pass()
	elsewhere := s.visitor(t)
	elsewhere.logIn("member")
	if !elsewhere.sees() {
		t.Error("an account's pass does not count in another browser")
	}
	for what, more := range map[string]string{"not kept": "", "another age": days + `,"age":21`,
		"another mode": days + fmt.Sprintf(`,"key":%q`, s.shop.Live.APIKey)} {
		if s.parts(t, more); elsewhere.sees() {
			t.Errorf("%s: the account's pass counts", what)
		}
	}
	s.parts(t, days)
	s.wp(t, `foreach (get_users(["login" => "member"]) as $u) update_user_option($u->ID, "agegate",
		["at" => time() - 31 * 86400] + get_user_option("agegate", $u->ID));`)
	if elsewhere.sees() {
		t.Error("an account's pass counts after its time")
	}
	elder := s.visitor(t)
	elder.logIn("elder")
	if elder.sees() {
		t.Error("a member without a pass is shown the page")
	}
	s.wp(t, `$o = get_option("agegate"); $o["members"] = [get_user_by("login", "elder")->ID];
		update_option("agegate", $o);`)
	if !elder.sees() {
		t.Error("a member on the list is not shown the page")
	}
	staff := s.visitor(t)
	if staff.logIn("admin"); !staff.sees() {
		t.Error("staff are not shown their page")
	}
	guest := s.visitor(t) // who begins as nobody gives no account a pass
	guest.Jar.SetCookies(v.base(), nil)
	back := guest.force(guest.press("/"), "verified")
	s.wp(t, `delete_metadata("user", 0, "wp_agegate", "", true);`)
	guest.logIn("member")
	guest.get(back)
	kept := s.wp(t, `echo json_encode(get_user_option("agegate", get_user_by("login", "member")->ID));`)
	if kept != "false" {
		t.Errorf("an account has the pass that somebody began without it: %s", kept)
	}
}

func testWebhook(t *testing.T, s *site) {
	s.parts(t, `,"account":30`)
	v := s.visitor(t)
	v.logIn("elder")
	v.force(v.press("/cellar/"), "verified") // the browser never comes back
	gatewaytest.WaitFor(t, "the webhook", func() bool {
		return s.wp(t, `echo json_encode((bool) get_user_option("agegate", get_user_by("login", "elder")->ID));`) == "true"
	})
	guest := s.visitor(t)
	guest.force(guest.press("/cellar/"), "verified")
	gatewaytest.WaitFor(t, "the pass by the webhook",
		func() bool { return guest.get("/cellar/").status == http.StatusSeeOther })
	if !guest.sees() {
		t.Error("no pass by the webhook")
	}
	for what, headers := range map[string][]string{"nothing signed": nil, "a forgery": {"Webhook-Id: evt_1",
		"Webhook-Timestamp: 1", "Webhook-Signature: v1,AAAA"}} {
		if res := v.do(http.MethodPost, "/wp-json/agegate/v1/webhook", url.Values{"a": {"b"}},
			headers...); res.status != http.StatusBadRequest {
			t.Errorf("%s is answered %d %s", what, res.status, res.body)
		}
	}
	s.parts(t, `,"webhook":""`)
	if res := v.do(http.MethodPost, "/wp-json/agegate/v1/webhook", url.Values{}); res.status != http.StatusBadRequest {
		t.Errorf("without a secret, a webhook is answered %d", res.status)
	}
}

func testCheckout(t *testing.T, s *site) {
	v := s.visitor(t)
	for _, way := range []string{"checkout", "blocks"} {
		if res := v.get(fmt.Sprintf("/?wc-ajax=%s&buy=%d", way, s.ids.Product)); !strings.Contains(res.body,
			"age check first") {
			t.Errorf("without a pass, %s answers %d %s", way, res.status, res.body)
		}
		if res := v.get(fmt.Sprintf("/?wc-ajax=%s&buy=%d", way, s.ids.Free)); res.body != `["ordered"]` {
			t.Errorf("what is free, %s answers %d %s", way, res.status, res.body)
		}
	}
	v.pass()
	for _, way := range []string{"checkout", "blocks"} {
		if res := v.get(fmt.Sprintf("/?wc-ajax=%s&buy=%d", way, s.ids.Product)); res.body != `["ordered"]` {
			t.Errorf("with a pass, %s answers %d %s", way, res.status, res.body)
		}
	}
}

// testUploads: the web server asks the plug-in, by the guide's rule.
func testUploads(t *testing.T, s *site) {
	dir := filepath.Join(s.dir, "wp-content", "uploads")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "price.txt"), secretText)
	v := s.visitor(t)
	if res := v.get("/wp-content/uploads/price.txt"); res.status != http.StatusForbidden {
		t.Errorf("without a pass, an upload is answered %d %s", res.status, res.body)
	}
	v.pass()
	if res := v.get("/wp-content/uploads/price.txt"); res.body != secretText {
		t.Errorf("with a pass, an upload is answered %d %s", res.status, res.body)
	}
}
