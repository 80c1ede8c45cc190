package main

import (
	"bytes"
	"context"
	"net"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"agegate/internal/app"
	"agegate/internal/backoffice/insight"
	"agegate/internal/lab/demo"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/store/pgtest"
)

// TestDemoTenant keeps the shop's credentials as long as they are valid.
func TestDemoTenant(t *testing.T) {
	file := filepath.Join(t.TempDir(), "demo-shop.json")
	credentials := func(c *console, shopURL string) demo.Credentials {
		t.Helper()
		kept := keptShop{path: file}
		program := &cli{env: func(name string) (string, bool) { v, ok := c.env[name]; return v, ok }}
		err := program.withOperator(t.Context(), func(op operator) error {
			return kept.open(t.Context(), op.tenants, shopURL)
		})
		if err != nil {
			t.Fatal(err)
		}
		return kept.Credentials
	}
	one, other := newConsole(t), newConsole(t)
	one.env["AGEGATE_ALLOW_INSECURE_CALLBACKS"], other.env["AGEGATE_ALLOW_INSECURE_CALLBACKS"] = "true", "true"
	first := credentials(one, "http://localhost:8081")
	if again := credentials(one, "http://localhost:8081"); again != first {
		t.Error("a second start made another tenant")
	}
	moved := credentials(one, "http://localhost:9081")
	if moved == first {
		t.Error("the shop moved and kept its old URLs")
	}
	if fresh := credentials(other, "http://localhost:9081"); fresh == moved {
		t.Error("credentials of another database were used")
	}
}

// TestNewcomersTickTheDemosChecklist: what the demo has set up is not the work of a
// newcomer, on the first start and on a later one.
func TestNewcomersTickTheDemosChecklist(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"AGEGATE_ESTIMATOR": "off", "AGEGATE_LISTEN": "localhost:0"}
	c := &cli{env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	for _, passed := range []bool{false, true} {
		cfg, err := c.loadDemo(dir)
		if err != nil {
			t.Fatal(err)
		}
		gateway, err := app.New(t.Context(), cfg, newLogger(t.Output(), cfg), now)
		if err != nil {
			t.Fatal(err)
		}
		kept := keptShop{path: filepath.Join(dir, credentialsFile)}
		if err := kept.open(t.Context(), gateway.Tenants, "http://localhost:8081"); err != nil {
			t.Fatal(err)
		}
		caller, err := gateway.Tenants.Authenticate(t.Context(), kept.APIKey)
		if err != nil {
			t.Fatal(err)
		}
		shop, err := gateway.Tenants.Tenant(t.Context(), caller.TenantID)
		if err != nil {
			t.Fatal(err)
		}
		want := insight.Checklist{SuccessURL: true, CancelURL: true, WebhookURL: true, Allowance: true}
		want.Passed = passed
		if list, err := gateway.Insight.Checklist(t.Context(), shop); err != nil || list != want {
			t.Errorf("checklist %+v, %v, want %+v", list, err, want)
		}
		passes(t, gateway, caller)
		if err := gateway.Close(); err != nil {
			t.Error(err)
		}
	}
}

// passes makes a test session that passes.
func passes(t *testing.T, gateway *app.App, caller tenant.Caller) {
	t.Helper()
	created, err := gateway.Sessions.Create(t.Context(), caller, session.CreateRequest{TargetAge: 18})
	if err != nil {
		t.Fatal(err)
	}
	sess, err := gateway.Sessions.ByLink(t.Context(), path.Base(created.VerificationURL))
	if err != nil {
		t.Fatal(err)
	}
	forced := session.CheckResult{Result: session.ResultVerified, Source: session.SourceForced}
	if _, err := gateway.Sessions.Resolve(t.Context(), sess, forced); err != nil {
		t.Fatal(err)
	}
}

// endOn collects what a program prints and ends the program when it has printed a text.
type endOn struct {
	bytes.Buffer
	text string
	end  func()
}

func (w *endOn) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if strings.Contains(w.String(), w.text) {
		w.end()
	}
	return n, err
}

// TestDemoPrintsItsBannerLast: the demo sets up its shop without a word, and what to open is the last that it prints.
func TestDemoPrintsItsBannerLast(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	env := map[string]string{
		"AGEGATE_ESTIMATOR": "off", "AGEGATE_LISTEN": "localhost:0", "AGEGATE_SHOP_LISTEN": "localhost:0",
	}
	stdout, stderr := &endOn{text: "Ctrl-C stops both", end: end}, &bytes.Buffer{}
	err := run(ctx, []string{"demo", "--data", t.TempDir()},
		func(name string) (string, bool) { v, ok := env[name]; return v, ok }, stdout, stderr)
	if err != nil || strings.Contains(stderr.String(), "level=INFO") {
		t.Errorf("%v, and the log has\n%s", err, stderr)
	}
	if out := stdout.String(); !strings.Contains(out, "agegate is running.") ||
		!strings.Contains(out, "/dashboard/link/") || // without a terminal too
		!strings.Contains(out, "AGEGATE_REDIRECT_SECRET=rdsec_test_") || !strings.Contains(out, "_SECRET=whsec_") ||
		!strings.HasSuffix(out, "for each request.\n\n") {
		t.Errorf("the demo prints\n%s", out)
	} else if urls := regexp.MustCompile(`works only instead of the sample shop:\nset its URLs, and use:\n\n` +
		`  # its URLs: http\S+/dashboard/[0-9a-f-]{36}/settings/urls\n`); !urls.MatchString(out) {
		t.Errorf("the demo does not say where a shop of one's own sets its URLs:\n%s", out)
	} else {
		for line := range strings.Lines(out) {
			if len(line) > 81 && !strings.Contains(line, "://") && !strings.Contains(line, "SECRET=") {
				t.Errorf("%q is wider than a terminal", line)
			}
		}
	}
}

// TestCommandsWorkBesideTheDemo: in its directory, commands use the demo's database,
// key and address, unless a variable names others.
func TestCommandsWorkBesideTheDemo(t *testing.T) {
	t.Chdir(t.TempDir())
	_, port, _ := net.SplitHostPort(pgtest.FreeAddr(t))
	ctx, end := context.WithCancel(t.Context())
	defer end()
	env := map[string]string{
		"AGEGATE_ESTIMATOR": "off", "AGEGATE_LISTEN": "localhost:" + port, "AGEGATE_SHOP_LISTEN": "localhost:0",
	}
	lookup := func(env map[string]string) func(string) (string, bool) {
		return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	}
	stdout, stderr := &endOn{text: "Ctrl-C stops both", end: end}, &bytes.Buffer{}
	if err := run(ctx, []string{"demo"}, lookup(env), stdout, stderr); err != nil {
		t.Fatal(err, stderr)
	}
	var out bytes.Buffer
	err := run(t.Context(), []string{"user", "setup-link"}, lookup(nil), &out, stderr)
	if err != nil || !strings.HasPrefix(out.String(), "http://localhost:"+port+"/dashboard/link/") {
		t.Errorf("%v: the link is %s", err, &out)
	}
	out.Reset()
	err = run(t.Context(), []string{"user", "setup-link", "--another"}, lookup(nil), &out, stderr)
	if err != nil || !strings.HasPrefix(out.String(), "http://localhost:"+port+"/dashboard/link/") {
		t.Errorf("%v: the link for another operator is %s", err, &out)
	}
	out.Reset()
	err = run(t.Context(), []string{"doctor"}, lookup(nil), &out, stderr)
	if strings.Contains(out.String(), "AGEGATE_SECRET_KEY") ||
		strings.Contains(out.String(), "AGEGATE_WEBHOOK_ALLOW_NETS") {
		t.Errorf("doctor, %v:\n%s", err, &out)
	}
	for database, has := range map[string]bool{"": true, "sqlite:other.db": false} {
		out.Reset()
		err := run(t.Context(), []string{"tenant", "list"}, lookup(map[string]string{"AGEGATE_DATABASE_URL": database}), &out,
			stderr)
		// The other database needs a key of its own.
		if (err == nil) != has || strings.Contains(out.String(), "Corner Cellar") != has {
			t.Errorf("database %q, %v:\n%s", database, err, &out)
		}
	}
}

// TestDemoShopAddress: an address that is taken is named with the variable that sets another.
func TestDemoShopAddress(t *testing.T) {
	taken, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct{ address, want string }{
		{taken.Addr().String(), "AGEGATE_SHOP_LISTEN=localhost:8082"}, {"8081", "AGEGATE_SHOP_LISTEN must be host:port"},
	} {
		c := newConsole(t)
		c.env["AGEGATE_ESTIMATOR"], c.env["AGEGATE_SHOP_LISTEN"] = "off", tt.address
		if _, err := c.try("demo", "--data", t.TempDir()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.address, err, tt.want)
		}
	}
}
