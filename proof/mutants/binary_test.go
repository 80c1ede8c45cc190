package mutants

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/vision/visiontest"
	"agegate/internal/gatewaytest"
	"agegate/internal/lab/conformance"
	"agegate/internal/lab/suite"
	"agegate/internal/store/pgtest"
	"agegate/proof/table"
)

// program is the real binary and its environment.
type program struct {
	t    *testing.T
	path string // of agegate; agegate-dev lies beside it
	env  []string
}

// command prepares a command with further NAME=VALUE variables.
func (p *program) command(settings []string, args ...string) *exec.Cmd {
	cmd := exec.Command(p.path, args...)
	cmd.Env = slices.Concat(p.env, settings)
	return cmd
}

// made is the output of tenant create.
type made struct {
	ID   string `json:"tenant_id"`
	Keys struct {
		Test string `json:"test"`
		Live string `json:"live"`
	} `json:"api_keys"`
	Webhook struct {
		Test string `json:"test"`
	} `json:"webhook_secrets"`
	Redirect struct {
		Test string `json:"test"`
	} `json:"redirect_secrets"`
}

// print runs a command. Unless into is nil, it decodes the command's JSON output.
func (p *program) print(into any, args ...string) {
	p.t.Helper()
	out, err := p.command(nil, args...).Output()
	if err == nil && into != nil {
		err = json.Unmarshal(out, into)
	}
	if err != nil {
		p.t.Fatalf("agegate %s: %v", strings.Join(args, " "), err)
	}
}

func (p *program) tenant(flags ...string) (m made) {
	p.t.Helper()
	p.print(&m, append([]string{"tenant", "create", "--json", "--name", "Shop"}, flags...)...)
	return m
}

// serve starts the gateway and waits until it is ready. It returns a function
// that ends the gateway.
func (p *program) serve(url string, settings ...string) (stop func()) {
	p.t.Helper()
	cmd := p.command(settings, "serve")
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for limit := time.Now().Add(table.HangLimit); ; time.Sleep(20 * time.Millisecond) {
		if res, err := http.Get(url + "/readyz"); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				break
			}
		}
		select {
		case err := <-ended:
			p.t.Fatalf("the gateway ended when it started: %v\n%s", err, &log)
		default:
		}
		if time.Now().After(limit) {
			_ = cmd.Process.Kill() // it does not end by itself
			p.t.Fatal("the gateway does not get ready")
		}
	}
	return func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended already
		if err := <-ended; err != nil {
			p.t.Errorf("the gateway: %v\n%s", err, &log)
		}
	}
}

// conformance runs the command and returns its report and exit code.
func (p *program) conformance(settings []string, args ...string) (*conformance.Report, int) {
	p.t.Helper()
	cmd := p.command(settings, append([]string{"conformance", "--report", "json", "--rate", "0", "--webhook-wait", "1m",
		"--case-timeout", "1m"}, args...)...)
	cmd.Path = p.path + "-dev"
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	report := &conformance.Report{}
	if err := json.Unmarshal(stdout.Bytes(), report); err != nil {
		p.t.Fatalf("no report: %v\n%s", err, &stderr)
	}
	return report, cmd.ProcessState.ExitCode()
}

// TestOwnBinary: the command finds no fault in the gateway of the same binary,
// sees every part of the contract that a client can see, and counts sessions
// correctly.
func TestOwnBinary(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agegate")
	build := exec.Command("go", "build", "-C", "../..", "-o", filepath.Dir(path), "./cmd/agegate", "./cmd/agegate-dev")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	t.Run("sqlite", func(t *testing.T) { ownBinary(t, path, gatewaytest.SQLite(t)) })
	if table.Full() {
		t.Run("postgres", func(t *testing.T) { ownBinary(t, path, pgtest.URL(t)) })
	}
}

func ownBinary(t *testing.T, path, databaseURL string) {
	address, hook := pgtest.FreeAddr(t), pgtest.FreeAddr(t)
	url := "http://" + address
	p := &program{t: t, path: path, env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "AGEGATE_DATABASE_URL=" + databaseURL,
		"AGEGATE_SECRET_KEY=" + base64.StdEncoding.EncodeToString(make([]byte, 32)), "AGEGATE_LISTEN=" + address,
		"AGEGATE_BASE_URL=" + url,
		"AGEGATE_MODELS_DIR=" + filepath.Join(visiontest.Root(), "models"), "AGEGATE_INFERENCE_WORKERS=1",
		"AGEGATE_TEST_DAILY_CAP=200", "AGEGATE_ALLOW_INSECURE_CALLBACKS=true", "AGEGATE_WEBHOOK_ALLOW_NETS=127.0.0.0/8",
		"AGEGATE_WEBHOOK_RETRY_TEST=3s,1s,1s", "AGEGATE_LOG_LEVEL=warn", "AGEGATE_LAME_DUCK=0s",
	}}
	callbacks := []string{"--success-url", "https://shop.example/ok?order=1", "--cancel-url", "https://shop.example/back"}
	shop := p.tenant(slices.Concat(callbacks,
		[]string{"--webhook-url", "http://" + hook + "/hook", "--age-visibility"})...)
	document := p.tenant(slices.Concat(callbacks,
		[]string{"--webhook-url", "http://" + hook + "/hook", "--document-check"})...)
	last := p.tenant(slices.Concat(callbacks, []string{"--test-cap", "1"})...)
	capped := p.tenant(slices.Concat(callbacks, []string{"--test-cap", "0"})...) // on any day
	off := p.tenant(callbacks...)
	p.print(nil, "tenant", "disable", off.ID)
	var key struct {
		ID  string `json:"key_id"`
		Key string `json:"key"`
	}
	p.print(&key, "key", "create", shop.ID, "--mode", "test", "--json")
	p.print(nil, "key", "revoke", key.ID)
	settings := func(m made) []string {
		return []string{"TEST_KEY=" + m.Keys.Test, "REDIRECT_SECRET=" + m.Redirect.Test, "WEBHOOK_SECRET=" + m.Webhook.Test}
	}
	everything := append(settings(shop), "LIVE_KEY="+shop.Keys.Live, "OTHER_KEY="+document.Keys.Test, "REVOKED_KEY="+
		key.Key,
		"DISABLED_KEY="+off.Keys.Live, "CAPPED_KEY="+capped.Keys.Test, "UNPAID_KEY="+
			p.tenant(slices.Concat(callbacks, []string{"--free-checks", "0"})...).Keys.Live,
		"BARE_KEY="+p.tenant(callbacks[:2]...).Keys.Test,
		"LAST_TEST_KEY="+last.Keys.Test, "LAST_LIVE_KEY="+
			p.tenant(slices.Concat(callbacks, []string{"--free-checks", "1"})...).Keys.Live)

	stop := p.serve(url)
	receiver := func(m made) []string {
		return []string{"--listen", hook, "--webhook-url", "http://" + hook + "/hook",
			"--register-webhook-url", path + " tenant set " + m.ID + " --webhook-url"}
	}
	report, code := p.conformance(everything, receiver(shop)...)
	allPass(t, report)
	if code != conformance.ExitPassed || report.Count(suite.Skipped) != 6 {
		t.Errorf("exit status %d, %s; want 0 and only the expiry and the document checks skipped", code, report.Summary())
	}
	plan, err := conformance.PlanOf(conformance.Options{
		TestKey: "x", LiveKey: "x", OtherKey: "x", RevokedKey: "x", DisabledKey: "x", CappedKey: "x", UnpaidKey: "x",
		BareKey:     "x",
		LastTestKey: "x", LastLiveKey: "x", WebhookURL: "x",
		RedirectSecret: "x", Draws: conformance.DefaultDraws,
		Register: func(context.Context, string) error { return nil },
	})
	if err != nil || int(report.Sessions) != plan.Sessions || int(report.Live) != plan.Live {
		t.Errorf("%d test and %d live sessions were made, %v; planned are %+v", report.Sessions, report.Live, err, plan)
	}
	allSeen(t, report)

	report, code = p.conformance(settings(document), append(receiver(document), "--case", "webhook.[^s]*", "--case",
		"status.*", "--case", "redirect.*", "--case", "force.*")...)
	if allPass(t, report); code != conformance.ExitPassed || report.Count(suite.Skipped) > 1 { // force.document_only
		t.Errorf("with the document check on: exit status %d, %s", code, report.Summary())
	}
	report, code = p.conformance(settings(document), "--case", "webhook.*")
	if n := report.Count(suite.NotReachable); code != conformance.ExitFailed || n != len(report.Results)-1 {
		t.Errorf("without a receiver: exit status %d, %s", code, report.Summary())
	}
	report, code = p.conformance(settings(document), "--case", "webhook.*", "--without-webhooks")
	if n := report.Count(suite.Skipped); code != conformance.ExitPassed || n != len(report.Results) {
		t.Errorf("without webhooks, as asked for: exit status %d, %s", code, report.Summary())
	}
	stop()

	stop = p.serve(url, "AGEGATE_SESSION_TTL=10s", "AGEGATE_ESTIMATOR=off")
	one := p.tenant(slices.Concat(callbacks, []string{"--free-checks", "1"})...)
	report, code = p.conformance(append(settings(document), "LAST_LIVE_KEY="+one.Keys.Live), "--case", "expiry.*",
		"--expiry-wait", "1m")
	if allPass(t, report); code != conformance.ExitPassed || report.Count(suite.Skipped) > 0 {
		t.Errorf("with sessions that expire: exit status %d, %s", code, report.Summary())
	}
	stop()
}

// allSeen checks that every documented status and error example was seen, except
// those that no client can cause.
func allSeen(t *testing.T, report *conformance.Report) {
	t.Helper()
	for _, s := range report.Statuses {
		hidden := s.Status >= "500" || slices.Contains([]string{
			"getSessionStatus 409", "resendTestEvent 429", "moveTestClock 429",
		}, s.Operation+" "+s.Status)
		if (s.Seen == 0) != hidden {
			t.Errorf("%s %s was seen %d times", s.Operation, s.Status, s.Seen)
		}
	}
	for _, e := range report.Examples {
		hidden := e.Status >= "500" || e.Example == "timestampMissing" ||
			e.Example == "tooMany" && e.Operation != "listTestEvents"
		if e.Seen == hidden {
			t.Errorf("the example %q of %s %s was seen: %t", e.Example, e.Operation, e.Status, e.Seen)
		}
	}
}
