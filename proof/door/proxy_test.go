package door

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"agegate/internal/gatewaytest"
	"agegate/internal/store/pgtest"
)

// proxies are the reverse proxies of Debian with the files of the guide.
var proxies = map[string]func(t *testing.T, dir string, change *strings.Replacer) []string{
	"nginx": func(t *testing.T, dir string, change *strings.Replacer) []string {
		example(t, "nginx.conf", dir, change)
		main := `daemon off; pid nginx.pid; error_log stderr; events {}
			http { access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
			uwsgi_temp_path uwsgi; scgi_temp_path scgi; include nginx.conf; }`
		if os.Getuid() == 0 {
			main = "user root; " + main
		}
		write(t, filepath.Join(dir, "main.conf"), []byte(main))
		return []string{"nginx", "-p", dir, "-e", "stderr", "-c", filepath.Join(dir, "main.conf")}
	},
	"caddy": func(t *testing.T, dir string, change *strings.Replacer) []string {
		file := example(t, "Caddyfile", dir, change)
		return []string{"caddy", "run", "--config", file, "--adapter", "caddyfile"}
	},
	"haproxy": func(t *testing.T, dir string, change *strings.Replacer) []string {
		example(t, "door.lua", dir, change)
		return []string{"haproxy", "-db", "-f", example(t, "haproxy.cfg", dir, change)}
	},
}

// example copies one of the guide's files with the test's names.
func example(t *testing.T, name, dir string, change *strings.Replacer) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs/guides/door", name))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, name)
	write(t, file, []byte(change.Replace(string(text))))
	return file
}

// run starts a program, which must listen at an address soon.
func run(t *testing.T, dir, address string, env []string, program ...string) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	cmd.Env = append(append(cmd.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir), env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", program[0], out.String())
		}
	})
	gatewaytest.WaitFor(t, program[0], func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

// ports puts a test's addresses into one of the guide's files.
func ports(address, dir, door, upstream string) *strings.Replacer {
	return strings.NewReplacer("127.0.0.1:8090", strings.TrimPrefix(door, "http://"),
		"127.0.0.1:8000", strings.TrimPrefix(upstream, "http://"), "listen 80;", "listen "+address+";", "listen [::]:80;", "",
		"bind :80", "bind "+address, "/etc/haproxy", dir,
		"forum.example {", "http://"+address+" {", "# Caddy:", "{\nadmin off\nauto_https off\n}\n# Caddy:")
}

// TestProxies gates a site by each proxy, unmodified, with the guide's file.
func TestProxies(t *testing.T) {
	t.Parallel()
	for name, prepare := range proxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, dir := pgtest.FreeAddr(t), t.TempDir()
			s := siteAt(t, "http://"+address, "DOOR_FREE=/free, OPTIONS /api, /users [application/activity+json], POST /inbox [Signature]")
			door := httptest.NewServer(s.door)
			defer door.Close()
			run(t, dir, address, nil, prepare(t, dir, ports(address, dir, door.URL, upstream(t)))...)
			testProxy(t, s, address)
			door.Close()
			if res := s.visitor(t).get("/free"); res.status < 500 {
				t.Errorf("without the door, the site is answered %d", res.status)
			}
		})
	}
}

func testProxy(t *testing.T, s *site, address string) {
	v := s.visitor(t)
	if res := v.get("/free", "X-Age-Over: 18"); res.status != http.StatusOK || res.header.Get("Age-Over") != "0" {
		t.Errorf("a free page is answered %d, age %q", res.status, res.header.Get("Age-Over"))
	}
	for _, spoof := range spoofs {
		if age := v.get("/free", spoof).header.Get("Age-Over"); age != "" && age != "0" {
			t.Errorf("%s reaches the site as %s", spoof, age)
		}
	}
	for _, header := range misreadings {
		if res := v.do(http.MethodOptions, "/api", nil, header); res.header.Get("Misread") != "" {
			t.Errorf("%s reaches the site", header)
		}
	}
	if res := v.get("/x", "Accept-Language: "); res.status != http.StatusForbidden ||
		!strings.Contains(res.body, "Robots are not let in") {
		t.Errorf("a robot is answered %d %s", res.status, res.body)
	}
	const activity = "Accept: application/activity+json"
	for _, tt := range []struct {
		method, target string
		headers        []string
		free           bool
	}{
		{"GET", "/users/a", []string{activity}, true}, {"GET", "/users/a", nil, false},
		{"GET", "/users/a", []string{activity + ", text/html"}, false}, {"GET", "/secret", []string{activity}, false},
		{"POST", "/inbox", []string{activity, "Signature: sig1=:AAAA:"}, true}, {"POST", "/inbox", []string{activity}, false},
		{"GET", "/inbox", []string{"Signature: sig1=:AAAA:"}, false},
	} {
		if res := v.do(tt.method, tt.target, nil, tt.headers...); (res.status == http.StatusOK) != tt.free {
			t.Errorf("%s %s with %q is answered %d", tt.method, tt.target, tt.headers, res.status)
		}
	}
	for _, header := range []string{"X-Forwarded-Uri: /free", "X-Forwarded-Method: OPTIONS", "X-Original-URI: /free",
		"X-Age-Over: 18", "Cookie: door=AAAA", "Connection: X-Forwarded-Uri, X-Forwarded-Method"} {
		if res := v.get("/secret", header); res.status != http.StatusForbidden || strings.Contains(res.body, "the site") {
			t.Errorf("%s: %d", header, res.status)
		}
	}
	for _, target := range []string{"/free/../secret", "/free/%2e%2e/secret", "/free/..%2fsecret", "//free",
		"/free/..;/secret",
		"/_door/../secret", "/_door/%2e%2e/secret", "/_door%2f..%2fsecret", "/_door/..%2fsecret", "//_door/../secret"} {
		if status := rawStatus(t, address, target); status < 300 {
			t.Errorf("%s is answered %d", target, status)
		}
	}
	for _, method := range []string{http.MethodHead, http.MethodPost, http.MethodPut} {
		if res := v.do(method, "/secret", nil); res.status != http.StatusForbidden {
			t.Errorf("%s is answered %d", method, res.status)
		}
	}
	if _, _, err := websocket.Dial(t.Context(), s.url+"/socket", nil); err == nil {
		t.Error("a WebSocket is opened")
	}
	page := s.pass(t, v, "/thread?id=7&page=2")
	if page.status != http.StatusOK || !strings.Contains(page.body, "the site at /thread") ||
		page.header.Get("Age-Over") != "18" {
		t.Errorf("with a pass: %d, age %q, %s", page.status, page.header.Get("Age-Over"), page.body)
	}
	if res := v.get("/thread", "Range: bytes=0-2"); res.status != http.StatusPartialContent || res.body != "the" {
		t.Errorf("a range is answered %d %q", res.status, res.body)
	}
	if res := v.do(http.MethodPost, "/thread", url.Values{"a": {"b"}}); res.status != http.StatusOK {
		t.Errorf("a POST is answered %d", res.status)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, s.url+"/socket", &websocket.DialOptions{HTTPClient: v.Client})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if err := conn.Write(ctx, websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, text, err := conn.Read(ctx); err != nil || string(text) != "hello" {
		t.Errorf("the socket answers %q, %v", text, err)
	}
}
