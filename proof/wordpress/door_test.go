package wordpress

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	agedoor "github.com/agegate/agegate/sdk/door"

	"agegate/internal/check/vision/visiontest"
	"agegate/internal/rules/tenant"
)

var freeOfGuide = regexp.MustCompile("`DOOR_FREE=([^`]*wp-login[^`]*)`")

// testDoor: the door gates the site without the plug-in, with what the guide leaves
// free. Through it, nothing that the site shows is shown without a pass.
func testDoor(t *testing.T, s *site, shown []string) {
	guide, err := os.ReadFile(filepath.Join(visiontest.Root(), "docs/guides/door.md"))
	if err != nil {
		t.Fatal(err)
	}
	free := freeOfGuide.FindSubmatch(guide)
	if free == nil {
		t.Fatal("the guide has no DOOR_FREE for WordPress")
	}
	front := httptest.NewUnstartedServer(nil)
	address := "http://" + front.Listener.Addr().String()
	mode := s.Shop(t, "", func(shop *tenant.Tenant) { shop.SuccessURL, shop.CancelURL = address+"/", address+"/" }).Test
	settings := map[string]string{
		"AGEGATE_URL": s.URL, "AGEGATE_API_KEY": mode.APIKey, "AGEGATE_REDIRECT_SECRET": mode.RedirectSecret,
		"DOOR_URL": address, "DOOR_UPSTREAM": s.url, "DOOR_FREE": string(free[1]),
		"DOOR_KEYS": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE=",
	}
	config, err := agedoor.Load(func(name string) string { return settings[name] })
	if err != nil {
		t.Fatal(err)
	}
	door, err := agedoor.New(config, slog.New(slog.NewTextHandler(s.log, nil)), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	front.Config.Handler = door
	front.Start()
	defer front.Close()
	move := func(to string) { s.wp(t, `update_option("home", "`+to+`"); update_option("siteurl", "`+to+`");`) }
	move(address)
	defer move(s.url)

	there := make([]string, len(shown)) // oEmbed names the site in a parameter
	for i, path := range shown {
		there[i] = strings.ReplaceAll(path, url.QueryEscape(s.url), url.QueryEscape(address))
	}
	v := &visitor{s.visitor(t).Client, t, address}
	for _, leak := range v.showing(there) {
		t.Errorf("the door shows %s", leak)
	}
	for _, path := range []string{"/wp-login.php", "/wp-includes/css/dashicons.min.css?ver=6",
		"/wp-cron.php?doing_wp_cron=1",
		"/wp-content/themes/twentytwentyone/style.css?ver=1"} {
		if res := v.get(path); res.status != http.StatusOK {
			t.Errorf("%s is answered %d", path, res.status)
		}
	}
	v.logIn("member")
	if res := v.get("/cellar/"); res.status != http.StatusForbidden {
		t.Errorf("a member without a pass is answered %d", res.status)
	}
	begun := v.do(http.MethodPost, "/_door/begin", url.Values{"to": {"/cellar/"}}, "Sec-Fetch-Site: same-origin")
	_, hosted, _ := strings.Cut(begun.header.Get("Refresh"), "0; url=")
	v.get(v.force(hosted, "verified"))
	still := v.showing(there)
	for _, path := range there {
		if !slices.Contains(still, path) {
			t.Errorf("with a pass, the door does not show %s", path)
		}
	}
}
