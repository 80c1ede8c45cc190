package wordpress

import (
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"agegate/internal/check/vision/visiontest"
	"agegate/internal/gatewaytest"
)

var nonce = regexp.MustCompile(`name="_wpnonce" value="([^"]*)"`)

const settingsAddress = "/wp-admin/options-general.php?page=agegate"

func testSettings(t *testing.T, s *site) {
	v := s.visitor(t)
	v.logIn("admin")
	page := v.get(settingsAddress).body
	for _, secret := range []string{s.shop.Test.APIKey, s.shop.Test.RedirectSecret, s.shop.Test.WebhookSecret} {
		if strings.Contains(page, secret) {
			t.Error("the page shows a secret")
		}
	}
	form := url.Values{"option_page": {"agegate"}, "action": {"update"}, "_wpnonce": {nonce.FindStringSubmatch(page)[1]},
		"_wp_http_referer": {settingsAddress}, "agegate[form]": {"1"}, "agegate[url]": {s.URL + "/"}, "agegate[key]": {""},
		"agegate[age]": {"21"}, "agegate[keep]": {"0"}, "agegate[posts]": {s.url + "/cellar/ " + fmt.Sprint(s.ids.Product)},
		"agegate[members]": {"elder"}, "agegate[types][]": {"product", "made-up"}}
	res := v.do(http.MethodPost, "/wp-admin/options.php", form)
	if res.status != http.StatusFound {
		t.Fatalf("the form is answered %d %s", res.status, res.body)
	}
	var stored map[string]any
	if err := json.Unmarshal([]byte(s.wp(t, `echo json_encode(get_option("agegate"));`)), &stored); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"url": s.URL, "key": s.shop.Test.APIKey, "age": "21", "keep": "1",
		"posts": fmt.Sprintf("[%d %d]", s.ids.Page, s.ids.Product), "types": "[product]", "whole": "false"} {
		if got := fmt.Sprint(stored[name]); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	for name, value := range map[string]string{"agegate[posts]": "/nowhere/", "agegate[members]": "nobody",
		"agegate[key]":     "x",
		"agegate[webhook]": "whsec_x", "agegate[url]": "age.example.com"} {
		wrong := url.Values{}
		maps.Copy(wrong, form)
		wrong.Set(name, value)
		v.do(http.MethodPost, "/wp-admin/options.php", wrong)
		said := v.get(settingsAddress + "&settings-updated=true").body
		if !strings.Contains(said, "notice-error") {
			t.Errorf("%s of %q is taken", name, value)
		}
	}
	if got := s.wp(t, `echo get_option("agegate")["key"];`); got != s.shop.Test.APIKey {
		t.Errorf("the key is %q", got)
	}
	member := s.visitor(t)
	member.logIn("member")
	if res := member.get(settingsAddress); res.status != http.StatusForbidden {
		t.Errorf("a member is shown the settings: %d", res.status)
	}
}

func testTry(t *testing.T, s *site) {
	v := s.visitor(t)
	v.logIn("admin")
	page := v.get(settingsAddress).body
	all := nonce.FindAllStringSubmatch(page, -1)
	res := v.do(http.MethodPost, settingsAddress, url.Values{"try": {"1"}, "_wpnonce": {all[len(all)-1][1]}})
	if n := strings.Count(res.body, "notice-success"); n != 4 || strings.Contains(res.body, "notice-error") {
		t.Errorf("the button says %d times that all is right: %q", n,
			regexp.MustCompile(`<div class="notice.*`).FindAllString(res.body, -1))
	}
	other := gatewaytest.Start(t, gatewaytest.SQLite(t))
	elsewhere := other.Shop(t, "", nil).Test
	for want, more := range map[string]string{
		"The redirect secret is wrong":  fmt.Sprintf(`,"redirect":%q`, elsewhere.RedirectSecret),
		"The redirect secret is wrong:": `,"redirect":""`,
		"The webhook secret is wrong":   fmt.Sprintf(`,"webhook":%q`, elsewhere.WebhookSecret),
		"The key is wrong":              fmt.Sprintf(`,"key":%q`, elsewhere.APIKey),
		"No gateway answers":            `,"url":"http://127.0.0.1:9"`,
		"no gateway.":                   fmt.Sprintf(`,"url":%q`, s.url),
		"no gateway":                    fmt.Sprintf(`,"url":%q,"key":%q`, s.url, s.shop.Live.APIKey),
		"live key are right":            fmt.Sprintf(`,"key":%q`, s.shop.Live.APIKey),
		"is not registered":             fmt.Sprintf(`,"url":%q,"key":%q`, other.URL, elsewhere.APIKey),
	} {
		s.parts(t, more)
		if said := s.wp(t, `echo json_encode(Agegate\WordPress\tryOut());`); !strings.Contains(said, want) {
			t.Errorf("%s: the button says %s, want %s", more, said, want)
		}
	}
}

var sourceText = regexp.MustCompile(`_(?:_|e)\(\s*"((?:[^"\\]|\\.)*)",\s*"agegate"\)`)

// testGerman: every text has a German one, with the same marks.
func testGerman(t *testing.T, s *site) {
	languages := filepath.Join(s.dir, "wp-content", "languages") // WordPress takes only a language that is installed
	if err := os.MkdirAll(languages, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(languages, "de_DE.mo"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.wp(t, `update_option("WPLANG", "de_DE");`)
	if res := s.visitor(t).get("/cellar/"); !strings.Contains(res.body, "Mein Alter bestätigen") {
		t.Errorf("in German: %s", res.body)
	}
	s.wp(t, `update_option("WPLANG", "");`)
	root := filepath.Join(visiontest.Root(), "sdk/wordpress")
	var german struct{ Messages map[string]string }
	out := s.php(t, nil, "-r", `echo json_encode(require "`+root+`/languages/agegate-de_DE.l10n.php");`)
	if err := json.Unmarshal([]byte(out), &german); err != nil {
		t.Fatal(err)
	}
	mark := regexp.MustCompile(`%(\d\$)?[sd]`)
	used := map[string]bool{}
	for _, name := range []string{"agegate.php", "gate.php", "page.php", "pass.php", "settings.php"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range sourceText.FindAllStringSubmatch(string(text), -1) {
			english := strings.ReplaceAll(m[1], `\$`, "$")
			used[english] = true
			if german.Messages[english] == "" || fmt.Sprint(mark.FindAllString(english, -1)) !=
				fmt.Sprint(mark.FindAllString(german.Messages[english], -1)) {
				t.Errorf("in German, %q is %q", english, german.Messages[english])
			}
		}
	}
	if len(used) < 40 || len(used) != len(german.Messages) {
		t.Errorf("%d texts, of which %d are in German", len(used), len(german.Messages))
	}
}

func testUninstall(t *testing.T, s *site) {
	v := s.visitor(t)
	v.logIn("member")
	s.parts(t, `,"account":30`)
	v.pass()
	s.activate(t, false)
	left := s.wp(t, `require_once ABSPATH . "wp-admin/includes/file.php"; uninstall_plugin("agegate/agegate.php");
		global $wpdb;
		echo json_encode([$wpdb->get_col("SELECT option_name FROM $wpdb->options
			WHERE option_value LIKE '%agegate%' OR option_name LIKE '%agegate%'"),
		$wpdb->get_col("SHOW TABLES LIKE '%agegate%'"),
			$wpdb->get_col("SELECT meta_key FROM $wpdb->usermeta WHERE meta_key LIKE '%agegate%'")]);`)
	if html.UnescapeString(left) != "[[],[],[]]" {
		t.Errorf("the plug-in leaves %s", left)
	}
}
