package door

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agegate/internal/store/pgtest"
)

// mediaWiki is where Debian's package mediawiki lies.
const mediaWiki = "/usr/share/mediawiki"

// wiki installs an unmodified MediaWiki with SQLite, runs it, and returns the
// address where it listens. Visitors know it by the address public.
func wiki(t *testing.T, public string) string {
	t.Helper()
	dir, address := t.TempDir(), pgtest.FreeAddr(t)
	install := exec.CommandContext(t.Context(), "php", mediaWiki+"/maintenance/install.php", "--dbtype=sqlite",
		"--dbname=wiki", "--dbpath="+dir, "--confpath="+dir, "--server="+public, "--scriptpath=",
		"--pass=a passphrase 1", "Forum", "Admin")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run(t, dir, address, []string{"MW_CONFIG_FILE=" + filepath.Join(dir, "LocalSettings.php")},
		"php", "-S", address, "-t", mediaWiki)
	return address
}

// mainPage is a wiki's first page, with a text of MediaWiki that is on it.
const mainPage, mainText = "/index.php/Main_Page", "MediaWiki has been installed"

// useWiki reads the wiki and writes into it, as a visitor who has passed.
func useWiki(t *testing.T, v *visitor, base string) {
	t.Helper()
	if res := v.travel(base + mainPage); res.status != http.StatusOK || !strings.Contains(res.body, mainText) {
		t.Errorf("the wiki is answered %d %s", res.status, res.body)
	}
	edit := url.Values{"action": {"edit"}, "title": {"Wine"}, "text": {"From 18 on."}, "token": {`+\`}, "format": {"json"}}
	if res := v.do(http.MethodPost, base+"/api.php", edit); !strings.Contains(res.body, `"result":"Success"`) {
		t.Errorf("an edit is answered %d %s", res.status, res.body)
	}
	if res := v.travel(base + "/index.php/Wine"); !strings.Contains(res.body, "From 18 on.") {
		t.Errorf("the page that was written is answered %d %s", res.status, res.body)
	}
}

// TestWikiByForwardAuth gates a MediaWiki by nginx, with the guide's file.
func TestWikiByForwardAuth(t *testing.T) {
	t.Parallel()
	address, dir := pgtest.FreeAddr(t), t.TempDir()
	s := siteAt(t, "http://"+address)
	door := httptest.NewServer(s.door)
	defer door.Close()
	change := strings.NewReplacer("127.0.0.1:8090", strings.TrimPrefix(door.URL, "http://"),
		"127.0.0.1:8000", wiki(t, s.url), "listen 80;", "listen "+address+";", "listen [::]:80;", "")
	run(t, dir, address, nil, proxies["nginx"](t, dir, change)...)
	v := s.visitor(t)
	for _, target := range []string{mainPage, "/", "/api.php?action=query&format=json", "/load.php", "/INSTALL"} {
		if res := v.get(target); res.status != http.StatusForbidden || strings.Contains(res.body, "MediaWiki") {
			t.Errorf("without a pass, %s is answered %d %s", target, res.status, res.body)
		}
	}
	s.pass(t, v, mainPage)
	useWiki(t, v, s.url)
}

// TestWikiByOpenIDConnect gates a MediaWiki by Apache's mod_auth_openidc, with the
// door as its provider.
func TestWikiByOpenIDConnect(t *testing.T) {
	t.Parallel()
	address, dir := pgtest.FreeAddr(t), t.TempDir()
	front := "http://" + address
	list := strings.ReplaceAll(clients, callback, front+"/signed-in")
	s := startSite(t, signInSettings(t, list, signingKey(t))...)
	user := ""
	if os.Getuid() == 0 {
		user = "User www-data\nGroup www-data"
	}
	example(t, "apache.conf", dir, strings.NewReplacer("<VirtualHost *:80>", "<VirtualHost "+address+">",
		"https://forum.example/_door", s.url+"/_door", "127.0.0.1:8000", wiki(t, front)))
	write(t, filepath.Join(dir, "main.conf"), []byte(strings.NewReplacer("DIR", dir, "ADDRESS", address, "USER", user).
		Replace(apacheConf)))
	run(t, dir, address, nil, "apache2", "-D", "FOREGROUND", "-f", filepath.Join(dir, "main.conf"))
	v := s.visitor(t)
	res := v.travel(front + mainPage)
	to := wanted.FindStringSubmatch(res.body)
	if res.status != http.StatusForbidden || to == nil || strings.Contains(res.body, "MediaWiki") {
		t.Fatalf("without a pass: %d %s", res.status, res.body)
	}
	hosted := v.press("/_door/begin", strings.ReplaceAll(to[1], "&amp;", "&"))
	if res = v.travel(s.force(t, v, hosted, "verified")); res.status != http.StatusOK ||
		!strings.Contains(res.body, mainText) {
		t.Errorf("with a pass: %d %s", res.status, res.body)
	}
	useWiki(t, v, front)
}

// apacheConf is Apache with the modules that the guide's file needs.
const apacheConf = `
ServerRoot DIR
ServerName localhost
DefaultRuntimeDir DIR
PidFile DIR/apache.pid
ErrorLog /dev/stderr
Listen ADDRESS
USER
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authn_core_module /usr/lib/apache2/modules/mod_authn_core.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule authz_user_module /usr/lib/apache2/modules/mod_authz_user.so
LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so
LoadModule auth_openidc_module /usr/lib/apache2/modules/mod_auth_openidc.so
Include DIR/apache.conf
`
