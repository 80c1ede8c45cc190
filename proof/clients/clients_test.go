// Package clients installs the clients in sdk as merchants do, and runs a shop
// with each against the gateway.
package clients

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"agegate/internal/check/vision/visiontest"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/tenant"
)

// goModule and goVersion are what go get fetches in the tests.
const (
	goModule  = "github.com/agegate/agegate/sdk/go"
	goVersion = "v0.0.1"
)

// TestOwnTests runs the tests of the clients that Go does not run itself.
func TestOwnTests(t *testing.T) {
	run(t, sdk("typescript"), nil, "node", "--test")
	run(t, sdk("python"), []string{"PYTHONDONTWRITEBYTECODE=1"}, "python3", "-m", "unittest")
	dir := t.TempDir()
	run(t, sdk("php"), installPHP(t, dir), "php", "test.php")
}

// TestStrictTypeScript compiles a shop with the packed package, and the package's
// own JavaScript, without the types of any platform but the web's.
func TestStrictTypeScript(t *testing.T) {
	dir := t.TempDir()
	installNPM(t, dir)
	if err := os.CopyFS(filepath.Join(dir, "plain"), os.DirFS(sdk("typescript"))); err != nil {
		t.Fatal(err)
	}
	declared, err := filepath.Glob(filepath.Join(dir, "plain", "*.d.ts"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range declared {
		// The JavaScript refers to the types. redirect.js is also shown in the contract's
		// description, where generators put comments around it, so it has no types itself.
		if name := filepath.Base(path); name == "types.d.ts" || name == "redirect.d.ts" {
			continue
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	copyFile(t, "testdata/strict.ts", filepath.Join(dir, "strict.ts"))
	write(t, filepath.Join(dir, "tsconfig.json"), `{
  "compilerOptions": {
    "strict": true, "noUncheckedIndexedAccess": true, "exactOptionalPropertyTypes": true, "noImplicitReturns": true,
    "allowJs": true, "checkJs": true, "noEmit": true, "target": "es2022", "lib": ["es2022", "dom", "dom.iterable"],
    "module": "nodenext", "types": []
  },
  "include": ["strict.ts"]
}`)
	run(t, dir, nil, generators(t, "tsc"), "--project", ".")
}

// TestShops runs the shops that the guide shows, with the clients installed as
// the guide says. Python's is used from its folder, because pip asks its index
// for a build tool.
func TestShops(t *testing.T) {
	port := freePort(t)
	for language, prepare := range map[string]func(t *testing.T, dir string) []string{
		"php": composerShop,
		"go": func(t *testing.T, dir string) []string {
			installGo(t, dir)
			return []string{filepath.Join(dir, "shop")}
		},
		"typescript": func(t *testing.T, dir string) []string {
			installNPM(t, dir)
			copyFile(t, sdk("typescript/example/shop.mjs"), filepath.Join(dir, "shop.mjs"))
			return []string{"node", "shop.mjs"}
		},
		"python": func(_ *testing.T, _ string) []string { return []string{"python3", sdk("python/example/shop.py")} },
	} {
		t.Run(language, func(t *testing.T) {
			dir := t.TempDir()
			testShop(t, dir, port, prepare(t, dir))
		})
	}
}

// TestRuntimes runs a shop with the npm package on the runtimes that are not
// Node.js.
func TestRuntimes(t *testing.T) {
	port := freePort(t)
	for name, program := range map[string][]string{
		"bun": {runtime(t, "@oven/bun-linux-x64-baseline/bin/bun"), "--no-install", "serve.mjs"},
		"deno": {runtime(t, "@deno/linux-x64-glibc/deno"), "run", "--cached-only", "--node-modules-dir=manual",
			"--allow-env", "--allow-net=127.0.0.1", "serve.mjs"},
		"workerd": {runtime(t, "@cloudflare/workerd-linux-64/bin/workerd"), "serve", "workerd.capnp",
			"--socket-addr=http=127.0.0.1:" + port},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			installNPM(t, dir)
			for _, file := range []string{"worker.mjs", "serve.mjs", "workerd.capnp"} {
				copyFile(t, filepath.Join("testdata", file), filepath.Join(dir, file))
			}
			testShop(t, dir, port, append([]string{"env", "HOME=" + dir, "DENO_NO_UPDATE_CHECK=1"}, program...))
		})
	}
}

// runtime returns the path of a program that npm has installed.
func runtime(t *testing.T, program string) string {
	t.Helper()
	path, err := filepath.Abs("../../internal/tools/runtimes/node_modules/" + program)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// testShop buys in a shop, as an honest shopper and as one who is not.
func testShop(t *testing.T, dir, port string, program []string) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	_, address, log := open(t, g, dir, port, program)
	answers := func(browser *http.Client, address string, status int, text string) {
		t.Helper()
		if got, body := get(t, browser, address); got != status || !strings.Contains(body, text) {
			t.Errorf("%s is answered %d %s", address, got, body)
		}
	}
	honest, other, phone := gatewaytest.Browser(), gatewaytest.Browser(), gatewaytest.Browser() // the last has no cookie
	answers(honest, address+"/", http.StatusOK, `action="/buy"`)
	page := buy(t, honest, address)
	buy(t, other, address)
	answers(honest, address+"/cancelled", http.StatusOK, "Write to us") // no other camera check
	res, _ := g.Force(t, honest, gatewaytest.Created{VerificationURL: page}, "verified")
	pass := res.Header.Get("Location")
	altered := strings.Replace(pass, "VERIFIED", "verified", 1) // verifies no more than an expired one
	gatewaytest.WaitFor(t, "the release by webhook", func() bool { return strings.Count(log.String(), "released") == 1 })
	for range 2 {
		answers(honest, pass, http.StatusOK, "Released")
		answers(phone, pass, http.StatusOK, "Released")
		answers(honest, altered, http.StatusOK, "Released") // this browser ordered
	}
	for _, refused := range []string{altered, strings.Replace(pass, "order=", "order=x", 1), address + "/thanks"} {
		answers(other, refused, http.StatusForbidden, "")
		answers(phone, refused, http.StatusForbidden, "")
	}
	if n := strings.Count(log.String(), "released"); n != 1 {
		t.Errorf("the order was released %d times", n)
	}
	if status, _ := post(t, honest, address+"/webhook"); status != http.StatusBadRequest {
		t.Errorf("an unsigned webhook is answered %d", status)
	}
}

// open starts a shop as a tenant of the gateway, and returns when it answers.
func open(t *testing.T, g *gatewaytest.Gateway, dir, port string, program []string) (
	c tenant.Credentials, address string, log *gatewaytest.Log,
) {
	t.Helper()
	address = "http://localhost:" + port
	c = g.Shop(t, address+"/webhook", func(s *tenant.Tenant) {
		s.SuccessURL, s.CancelURL = address+"/thanks", address+"/cancelled"
	})
	env := []string{
		"AGEGATE_URL=" + g.URL, "AGEGATE_API_KEY=" + c.Test.APIKey, "AGEGATE_REDIRECT_SECRET=" + c.Test.RedirectSecret,
		"AGEGATE_WEBHOOK_SECRET=" + c.Test.WebhookSecret, "SHOP_URL=" + address, "PORT=" + port,
		"PYTHONPATH=" + sdk("python"), "PYTHONDONTWRITEBYTECODE=1",
	}
	log = start(t, dir, env, program)
	gatewaytest.WaitFor(t, "the shop's start", func() bool {
		conn, err := net.Dial("tcp", "localhost:"+port)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return c, address, log
}

// csrfToken is in the form of a shop that has such protection.
var csrfToken = regexp.MustCompile(`name="(csrfmiddlewaretoken)" value="([^"]+)"`)

// buy begins an order and returns the address of the hosted page.
func buy(t *testing.T, browser *http.Client, shop string) string {
	t.Helper()
	form := url.Values{}
	_, cart := get(t, browser, shop)
	if token := csrfToken.FindStringSubmatch(cart); token != nil {
		if status, _ := post(t, browser, shop+"/buy"); status != http.StatusForbidden {
			t.Errorf("a purchase without the form's token is answered %d", status)
		}
		form.Set(token[1], token[2])
	}
	res, err := browser.PostForm(shop+"/buy", form)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	page := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther || !strings.Contains(page, "/v/") {
		t.Fatalf("the purchase is answered %d %s", res.StatusCode, page)
	}
	return page
}

func get(t *testing.T, browser *http.Client, address string) (int, string) {
	t.Helper()
	res, err := browser.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, res)
}

func post(t *testing.T, browser *http.Client, address string) (int, string) {
	t.Helper()
	res, err := browser.Post(address, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	return read(t, res)
}

func read(t *testing.T, res *http.Response) (int, string) {
	t.Helper()
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// installGo fetches the module with go get, from a module proxy on the disk, and
// builds the shop with it.
func installGo(t *testing.T, dir string) {
	t.Helper()
	proxy := filepath.Join(dir, "proxy", filepath.FromSlash(goModule), "@v")
	if err := os.MkdirAll(proxy, 0o700); err != nil {
		t.Fatal(err)
	}
	packed, err := os.Create(filepath.Join(proxy, goVersion+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	if err := zip.CreateFromDir(packed, module.Version{Path: goModule, Version: goVersion}, sdk("go")); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	copyFile(t, sdk("go/go.mod"), filepath.Join(proxy, goVersion+".mod"))
	info, err := json.Marshal(map[string]string{"Version": goVersion, "Time": "2026-01-01T00:00:00Z"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(proxy, goVersion+".info"), string(info))
	write(t, filepath.Join(proxy, "list"), goVersion+"\n")

	source := filepath.Join(dir, "source")
	if err := os.Mkdir(source, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(source, "go.mod"), "module shop.example\n\ngo 1.22\n")
	env := []string{
		"GOPROXY=" + (&url.URL{Scheme: "file", Path: filepath.Join(dir, "proxy")}).String(), "GONOSUMDB=*",
		"GOFLAGS=-modcacherw",
		"GOMODCACHE=" + filepath.Join(dir, "modules"), "GOTOOLCHAIN=local", "GOWORK=off",
	}
	run(t, source, env, "go", "get", goModule)
	run(t, source, env, "go", "build", "-o", filepath.Join(dir, "shop"), goModule+"/example/run")
}

// installNPM packs the npm package and installs what was packed.
func installNPM(t *testing.T, dir string) {
	t.Helper()
	packed := strings.TrimSpace(run(t, dir, nil, "npm", "pack", "--silent", sdk("typescript")))
	write(t, filepath.Join(dir, "package.json"), `{ "name": "shop", "private": true, "type": "module" }`)
	run(t, dir, nil, "npm", "install", "--offline", "--no-audit", "--no-fund", "./"+packed)
	var files []string
	installed := os.DirFS(filepath.Join(dir, "node_modules/@agegate/client"))
	err := fs.WalkDir(installed, ".", func(path string, entry fs.DirEntry, err error) error {
		if !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if got := strings.Join(files, " "); err != nil ||
		got != "README.md client.d.ts client.js index.d.ts index.js package.json "+
			"redirect.d.ts redirect.js transport.d.ts transport.js types.d.ts webhook.d.ts webhook.js" {
		t.Errorf("the package holds %s, %v", got, err)
	}
}

// installPHP copies the package and lets Composer make what loads it. It returns
// what tells a program to load it so, with Debian's HTTP client.
func installPHP(t *testing.T, dir string) []string {
	t.Helper()
	client := filepath.Join(dir, "client")
	if err := os.CopyFS(client, os.DirFS(sdk("php"))); err != nil {
		t.Fatal(err)
	}
	env := []string{"COMPOSER_ALLOW_SUPERUSER=1", "COMPOSER_HOME=" + filepath.Join(dir, "composer")}
	run(t, client, env, "composer", "validate", "--strict", "--quiet")
	run(t, client, env, "composer", "dump-autoload", "--no-interaction", "--quiet")
	autoload := filepath.Join(dir, "autoload.php")
	write(t, autoload, `<?php require "GuzzleHttp/autoload.php"; require "`+client+`/vendor/autoload.php";`)
	return []string{"AUTOLOAD=" + autoload}
}

func sdk(path string) string { return filepath.Join(visiontest.Root(), "sdk", path) }

// run fails the test when a program does, and returns its output.
func run(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, out, &complaint)
	}
	return string(out)
}

// start runs a program until the test ends, and returns what it prints.
func start(t *testing.T, dir string, env, args []string) *gatewaytest.Log {
	t.Helper()
	log := &gatewaytest.Log{}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), env...), log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a program may start others
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait() // killed
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return log
}

// freePort returns a port of localhost for a server that starts later. No other
// program takes it meanwhile: it is outside the range that the system assigns to
// clients and listeners.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(10_000 + rand.N(20_000))
		if listener, err := net.Listen("tcp", "localhost:"+port); err == nil {
			_ = listener.Close()
			return port
		}
	}
	t.Fatal("no free port on localhost")
	return ""
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	write(t, to, readFile(t, from))
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
