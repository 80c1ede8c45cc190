//go:build frameworks

package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agegate/internal/check/vision/visiontest"
	"agegate/internal/gatewaytest"
)

// TestFrameworks runs the shops of the guide to frameworks, with the clients installed
// from the files that a release publishes. The frameworks are Debian's and those of
// internal/tools/frameworks.
func TestFrameworks(t *testing.T) {
	released := t.TempDir()
	run(t, filepath.Join(visiontest.Root(), "internal/tools/packages"), nil, "go", "run", "./release", "clients",
		"-root", visiontest.Root(), "-out", released, "-version", "0.0.0+test")
	port := freePort(t)
	for _, shop := range []struct {
		framework, language, file string
		prepare                   func(t *testing.T, dir string) []string
	}{
		{"FastAPI", "In Python", "agegate-*.whl", pythonTools},
		{"Django", "In Python", "agegate-*.whl", pythonTools},
		{"Express", "In JavaScript", "agegate-client-*.tgz", nodeTools},
		{"Next.js", "In JavaScript", "agegate-client-*.tgz", nodeTools},
		{"Hono on Cloudflare Workers", "In JavaScript", "agegate-client-*.tgz", nodeTools},
	} {
		t.Run(shop.framework, func(t *testing.T) {
			dir := t.TempDir()
			env := shop.prepare(t, dir)
			files, err := filepath.Glob(filepath.Join(released, shop.file))
			if err != nil || len(files) != 1 {
				t.Fatalf("the release has %v of %s, %v", files, shop.file, err)
			}
			run(t, dir, nil, "cp", files[0], ".")
			testShop(t, dir, port, follow(t, dir, "docs/guides/frameworks.md", env, shop.language, shop.framework))
		})
	}
}

// TestCertifyExpress attacks the shop in Express with the lines that the guide to
// agegate-dev certify adds to it.
func TestCertifyExpress(t *testing.T) {
	dir := t.TempDir()
	env := nodeTools(t, dir)
	packed := strings.TrimSpace(run(t, dir, nil, "npm", "pack", "--silent", sdk("typescript")))
	run(t, dir, nil, "mv", packed, "agegate-client-0.tgz")
	program := follow(t, dir, "docs/guides/frameworks.md", env, "In JavaScript", "Express")
	guide := readFile(t, filepath.Join(visiontest.Root(), "docs/certify.md"))
	header, probe, _ := strings.Cut(strings.TrimPrefix(blocks(guide, []string{"The shop's description"})[1], "js\n"), "\n")
	server := filepath.Join(dir, "server.mjs")
	write(t, server, strings.NewReplacer("  response.cookie(", "  "+header+"\n  response.cookie(",
		"app.use((error", probe+"\napp.use((error").Replace(readFile(t, server)))
	gateway := "localhost:" + freePort(t)
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_LISTEN="+gateway, "AGEGATE_VERIFY_URL=http://"+gateway)
	c, address, _ := open(t, g, dir, freePort(t), program)
	report, text := attack(t, g, c, strings.ReplaceAll(`
webhook_url: SHOP/webhook
cancel_url: SHOP/cancelled
releases_on: [redirect, webhook]
order: {url: SHOP/buy, method: POST}
probe: {url: "SHOP/orders/{session}/released"}
settle: 0s
replay: 20ms
age: 18
`, "SHOP", address), nil)
	if !report.Passed() {
		t.Error(text)
	}
	t.Log(report.Summary())
}

// pythonTools makes an environment that has Debian's packages, and in which pip asks no
// index.
func pythonTools(t *testing.T, dir string) []string {
	t.Helper()
	run(t, dir, nil, "/usr/bin/python3", "-m", "venv", "--system-site-packages", ".venv")
	return []string{
		"PATH=" + filepath.Join(dir, ".venv/bin") + ":" + os.Getenv("PATH"), "PYTHONPATH=",
		"PIP_NO_INDEX=1", "PIP_DISABLE_PIP_VERSION_CHECK=1",
	}
}

// nodeTools copies the frameworks, which npm finds installed and asks no registry for.
func nodeTools(t *testing.T, dir string) []string {
	t.Helper()
	tools := filepath.Join(visiontest.Root(), "internal/tools/frameworks")
	run(t, dir, nil, "cp", "-R", filepath.Join(tools, "node_modules"), filepath.Join(tools, "package.json"),
		filepath.Join(tools, "package-lock.json"), ".")
	return []string{
		"npm_config_offline=true", "npm_config_audit=false", "npm_config_fund=false", "npm_config_ignore_scripts=true",
		"NEXT_TELEMETRY_DISABLED=1", "WRANGLER_SEND_METRICS=false", "HOME=" + dir,
	}
}
