package wordpress

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNetwork: activated for a network, the plug-in gates a site that was never activated
// by itself. Sites of one host keep their passes apart, and deleting it leaves nothing.
func TestNetwork(t *testing.T) {
	s := startSite(t)
	settings := fmt.Sprintf(`SETTINGS={"url":%q,"key":%q,"redirect":%q}`, s.URL, s.shop.Test.APIKey,
		s.shop.Test.RedirectSecret)
	s.php(t, nil, "testdata/network.php")
	path := filepath.Join(s.dir, "wp-config.php")
	config, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, strings.Replace(string(config), "<?php", fmt.Sprintf(`<?php define('MULTISITE', true);
define('SUBDOMAIN_INSTALL', false); define('DOMAIN_CURRENT_SITE', '%s'); define('PATH_CURRENT_SITE', '/');
define('SITE_ID_CURRENT_SITE', 1); define('BLOG_ID_CURRENT_SITE', 1);`, strings.TrimPrefix(s.url, "http://")), 1))
	post := "/two/?p=" + s.php(t, []string{settings}, "testdata/network.php")
	s.php(t, []string{settings}, "-r", `$_SERVER["HTTP_HOST"] = substr(getenv("SITE"), 7); $_SERVER["REQUEST_URI"] = "/";
		require getenv("DIR") . "/wp-load.php";
		update_option("agegate", ["types" => ["post"]] + json_decode(getenv("SETTINGS"), true));`)
	main := fmt.Sprintf("/?p=%d", s.ids.Post)
	v := s.visitor(t)
	sees := func(to string) bool { return len(v.showing([]string{to})) == 1 }
	for _, site := range []string{"/two/", "/"} {
		if sees(post) != (site == "/") || sees(main) {
			t.Errorf("before the check of %s, %s is shown: %t, and %s: %t", site, post, sees(post), main, sees(main))
		}
		res := v.do(http.MethodPost, site+"?agegate=begin", url.Values{"to": {site}})
		if !strings.Contains(res.location, "/v/") {
			t.Fatalf("the button of %s is answered %d %s", site, res.status, res.body)
		}
		v.get(v.force(res.location, "verified"))
	}
	if !sees(post) || !sees(main) {
		t.Error("a pass of one site ends that of another")
	}
	s.complains(t)
	left := s.php(t, nil, "-r", `$_SERVER["HTTP_HOST"] = substr(getenv("SITE"), 7); $_SERVER["REQUEST_URI"] = "/";
		require getenv("DIR") . "/wp-load.php"; define("WP_UNINSTALL_PLUGIN", "agegate/agegate.php");
		require WP_PLUGIN_DIR . "/agegate/uninstall.php";
		foreach ([1, 2] as $site) { switch_to_blog($site);
			echo implode($wpdb->get_col("SHOW TABLES LIKE '{$wpdb->prefix}agegate'")), get_option("agegate_secret"); }`)
	if left != "" {
		t.Errorf("deleting the plug-in leaves %s", left)
	}
}
