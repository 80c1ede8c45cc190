// Package wordpress runs Debian's WordPress and MariaDB with the plug-in of
// sdk/wordpress, before the real gateway, and tries every way to what is gated.
package wordpress

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"agegate/internal/check/vision/visiontest"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/tenant"
	"agegate/internal/store/pgtest"
)

// wordPress is where Debian's package lies.
const wordPress = "/usr/share/wordpress"

// site is a WordPress with the plug-in, which is not active yet.
type site struct {
	*gatewaytest.Gateway
	shop tenant.Credentials
	url  string
	dir  string
	log  *gatewaytest.Log
	ids  struct {
		Post, Page, Sub, Product, Free, FreePage, Picture int
		Terms                                             []int
		json                                              string
	}
}

// startSite installs and serves a WordPress, beside a gateway that knows it.
func startSite(t *testing.T) *site {
	t.Helper()
	address, gateway := pgtest.FreeAddr(t), pgtest.FreeAddr(t)
	s := &site{url: "http://" + address, dir: filepath.Join(t.TempDir(), "www"), log: &gatewaytest.Log{}}
	s.Gateway = gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_LISTEN="+gateway, "AGEGATE_BASE_URL=http://"+gateway,
		"AGEGATE_VERIFY_URL=http://"+gateway, "AGEGATE_TEST_DAILY_CAP=100000")
	s.shop = s.Shop(t, s.url+"/index.php?rest_route=/agegate/v1/webhook", func(tenant *tenant.Tenant) {
		tenant.SuccessURL, tenant.CancelURL = s.url+"/", s.url+"/"
	})
	s.copy(t)
	s.database(t)
	out := s.php(t, nil, "testdata/install.php")
	if err := json.Unmarshal([]byte(out), &s.ids); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	s.ids.json = out
	s.serve(t, address)
	return s
}

// copy makes the site's files, with the plug-in as an owner installs it.
func (s *site) copy(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(wordPress); err != nil {
		t.Fatal("there is no WordPress here: run make deps as root")
	}
	output(t, exec.Command("cp", "-rL", wordPress, s.dir))
	plugins := filepath.Join(s.dir, "wp-content", "plugins")
	output(t, exec.Command("cp", "-r", filepath.Join(visiontest.Root(), "sdk", "wordpress"), filepath.Join(plugins,
		"agegate")))
	if err := os.MkdirAll(filepath.Join(s.dir, "wp-content", "mu-plugins"), 0o700); err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(visiontest.Root(), "sdk", "php", "src") // another plug-in brings a copy of its own
	output(t, exec.Command("cp", "testdata/shop.php", filepath.Join(source, "redirect.php"), filepath.Join(source,
		"webhook.php"),
		filepath.Join(s.dir, "wp-content", "mu-plugins")))
	config := fmt.Sprintf(`<?php
define('DB_NAME', 'test'); define('DB_USER', 'root'); define('DB_PASSWORD', ''); define('DB_HOST', 'localhost:%s');
define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', ''); $table_prefix = 'wp_';
foreach (['AUTH_KEY','SECURE_AUTH_KEY','LOGGED_IN_KEY','NONCE_KEY','AUTH_SALT',
	'SECURE_AUTH_SALT','LOGGED_IN_SALT','NONCE_SALT'] as $k)
	define($k, 'only for this test ' . $k);
define('DISABLE_WP_CRON', true); define('WP_HTTP_BLOCK_EXTERNAL', true); define('WP_ACCESSIBLE_HOSTS', '127.*');
define('WP_DEBUG', true); define('WP_DEBUG_DISPLAY', false); define('WP_DEBUG_LOG', '/dev/stderr');
define('AUTOMATIC_UPDATER_DISABLED', true);
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';`, s.socket())
	write(t, filepath.Join(s.dir, "wp-config.php"), config)
}

var nginxOfGuide = regexp.MustCompile("(?s)```nginx\n(.*?)```")

// serve runs nginx and PHP, with the guide's rule for uploads.
func (s *site) serve(t *testing.T, address string) {
	t.Helper()
	dir := filepath.Dir(s.dir)
	guide, err := os.ReadFile(filepath.Join(visiontest.Root(), "docs/guides/wordpress.md"))
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "php.sock")
	uploads := strings.ReplaceAll(string(nginxOfGuide.FindSubmatch(guide)[1]), "/run/php/php-fpm.sock", socket)
	pool := fmt.Sprintf("[global]\nerror_log = /dev/stderr\ndaemonize = no\n[www]\nlisten = %s\npm = static\n"+
		"pm.max_children = 8\ncatch_workers_output = yes\ndecorate_workers_output = no\n", socket)
	allow, user := []string{"--nodaemonize"}, ""
	if os.Getuid() == 0 {
		pool += "user = root\ngroup = root\n"
		allow, user = append(allow, "--allow-to-run-as-root"), "user root;"
	}
	server := fmt.Sprintf(`%[1]s daemon off; pid nginx.pid; error_log stderr; events {}
http { access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
uwsgi_temp_path uwsgi; scgi_temp_path scgi;
server {
	listen %[2]s; root %[3]s; index index.php;
	location / { try_files $uri $uri/ /index.php?$args; }
	location ~ \.php$ {
		include /etc/nginx/fastcgi_params;
		fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
		fastcgi_param HTTP_HOST $http_host; # with its port
		fastcgi_pass unix:%[4]s;
	}
	%[5]s
} }`, user, address, s.dir, socket,
		strings.ReplaceAll(uploads, "include fastcgi_params", "include /etc/nginx/fastcgi_params"))
	write(t, filepath.Join(dir, "fpm.conf"), pool)
	write(t, filepath.Join(dir, "nginx.conf"), server)
	program, err := filepath.Glob("/usr/sbin/php-fpm*")
	if err != nil || len(program) == 0 {
		t.Fatal("there is no php-fpm here: run make deps as root")
	}
	s.run(t, nil, func() bool { return listens("unix", socket) }, program[0],
		append(allow, "--fpm-config", filepath.Join(dir, "fpm.conf"))...)
	s.run(t, nil, func() bool { return listens("tcp", address) }, "nginx", "-p", dir, "-e", "stderr", "-c",
		filepath.Join(dir, "nginx.conf"))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *site) socket() string { return filepath.Join(filepath.Dir(s.dir), "db.sock") }

// database runs a MariaDB of the site's own.
func (s *site) database(t *testing.T) {
	t.Helper()
	data := filepath.Join(filepath.Dir(s.dir), "data")
	common := []string{"--no-defaults", "--datadir=" + data, "--user=" + userName(t)}
	output(t, exec.Command("mariadb-install-db", append(common, "--auth-root-authentication-method=normal",
		"--skip-name-resolve", "--skip-log-bin")...))
	s.run(t, nil, func() bool { return listens("unix", s.socket()) }, "mariadbd", append(common, "--socket="+s.socket(),
		"--skip-networking", "--innodb-flush-log-at-trx-commit=0", "--pid-file="+s.socket()+".pid")...)
}

func userName(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(output(t, exec.Command("id", "-un")))
}

func listens(network, address string) bool {
	conn, err := net.Dial(network, address)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

// run runs a program until the test ends, and waits until it is ready.
func (s *site) run(t *testing.T, env []string, ready func() bool, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), s.log, s.log
	stopWithGroup(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stopGroup(cmd)
		_ = cmd.Wait() // stopped
	})
	gatewaytest.WaitFor(t, name, ready)
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, &complaint)
	}
	return string(out)
}

// php runs a program with the site's address.
func (s *site) php(t *testing.T, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command("php", append([]string{"-d", "display_errors=stderr", "-d", "memory_limit=512M"}, args...)...)
	cmd.Env = append(os.Environ(), append(env, "DIR="+s.dir, "SITE="+s.url, "IDS="+s.ids.json)...)
	return output(t, cmd)
}

// wp runs a line of PHP in WordPress, as the owner.
func (s *site) wp(t *testing.T, code string) string {
	t.Helper()
	return s.php(t, nil, "-r", `$_SERVER["HTTP_HOST"] = substr(getenv("SITE"), 7); require getenv("DIR") . "/wp-load.php";
		require_once ABSPATH . "wp-admin/includes/plugin.php"; wp_set_current_user(1); `+code)
}

// activate turns the plug-in on or off.
func (s *site) activate(t *testing.T, on bool) {
	t.Helper()
	if on {
		s.wp(t, `is_null(activate_plugin("agegate/agegate.php")) || throw new Exception("not activated");`)
	} else {
		s.wp(t, `deactivate_plugins("agegate/agegate.php");`)
	}
}

// set stores settings as JSON, over those of a test key.
func (s *site) set(t *testing.T, settings string) {
	t.Helper()
	mode := s.shop.Test
	base := fmt.Sprintf(`{"url":%q,"key":%q,"redirect":%q,"webhook":%q}`, s.URL, mode.APIKey, mode.RedirectSecret,
		mode.WebhookSecret)
	s.wp(t, fmt.Sprintf(`update_option("agegate", json_decode('%s', true) + json_decode('%s', true));`, settings, base))
}

// visitor is a browser.
type visitor struct {
	*http.Client
	t    *testing.T
	site string
}

func (s *site) visitor(t *testing.T) *visitor { return &visitor{gatewaytest.Browser(), t, s.url} }

// answer is what a visitor gets.
type answer struct {
	status   int
	header   http.Header
	body     string
	location string
}

func (v *visitor) do(method, target string, form url.Values, headers ...string) answer {
	v.t.Helper()
	if !strings.HasPrefix(target, "http") {
		target = v.site + target
	}
	req, err := http.NewRequestWithContext(v.t.Context(), method, target, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	req.Header.Set("Accept-Language", "en") // the door takes who names no language for a robot
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := v.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(body), res.Header.Get("Location")}
}

func (v *visitor) get(target string) answer {
	v.t.Helper()
	return v.do(http.MethodGet, target, nil)
}

// press begins a session for a page, and returns the hosted page.
func (v *visitor) press(to string) string {
	v.t.Helper()
	res := v.do(http.MethodPost, "/?agegate=begin", url.Values{"to": {to}})
	if res.status != http.StatusSeeOther || !strings.Contains(res.location, "/v/") {
		v.t.Fatalf("the button is answered %d %q %s", res.status, res.location, res.body)
	}
	return res.location
}

// force ends a session and returns where the gateway sends the visitor.
func (v *visitor) force(hosted, outcome string) string {
	v.t.Helper()
	page, _, _ := strings.Cut(hosted, "?") // the door says there that it has asked
	return v.get(page + "?force=" + outcome).location
}

// pass takes a visitor to the gateway and back.
func (v *visitor) pass() {
	v.t.Helper()
	back := v.get(v.force(v.press("/"), "verified"))
	if back.status != http.StatusSeeOther {
		v.t.Fatalf("the return is answered %d: %s", back.status, back.body)
	}
}

// complains fails the test when PHP has said anything about the plug-in.
func (s *site) complains(t *testing.T) {
	t.Helper()
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, "PHP Fatal") || strings.Contains(line, "PHP ") && strings.Contains(line,
			"plugins/agegate") {
			t.Error(line)
		}
	}
}
