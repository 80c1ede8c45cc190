package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"agegate/cmd/internal/terminal"
	"agegate/internal/lab/conformance"
	"agegate/internal/lab/suite"

	"github.com/spf13/cobra"
)

const conformanceHelp = `Test a running gateway from the outside: every operation, documented status and
error example of its contract, the redirects, the pages of forced outcomes and the
webhooks. Answers are validated against the contract of this program. Each case
cites the sections it tests: "SPEC n" is section n of the service specification,
"openapi.yaml" a heading or an operation of the contract.

What it needs is said before it starts, and how many sessions it makes. The tenant
of the test key must have a Success and a Cancel URL. For webhooks, open a receiver
with --listen and register an address that leads there as the tenant's Webhook URL.
No live session is made without --live-key; with it, one, whose unit is held until
it expires.

Secrets are read from the environment or from files: REDIRECT_SECRET (rdsec_test_…)
and WEBHOOK_SECRET (whsec_…). Each key can also be given as TEST_KEY, LIVE_KEY,
OTHER_KEY, REVOKED_KEY, DISABLED_KEY, CAPPED_KEY, UNPAID_KEY, BARE_KEY, LAST_TEST_KEY
and LAST_LIVE_KEY, out of sight of other users of this machine.

The exit status is 0 when every case passed or was skipped for want of a credential,
1 when a case failed or webhooks did not reach the receiver, and 2 when the gateway
could not be tested.`

// conformanceFlags are the command's flags that are not options of the suite.
type conformanceFlags struct {
	conformance.Options

	listen                    string
	redirectFile, webhookFile string
	register                  string
	report, out               string
	plan                      bool
}

func (c *cli) conformanceCommand() *cobra.Command {
	var f conformanceFlags
	cmd := &cobra.Command{
		Use: "conformance --base-url URL --test-key KEY", Short: "Test a running gateway against its contract",
		Long: conformanceHelp,
		Args: func(cmd *cobra.Command, args []string) error { return cannotRun(cobra.NoArgs(cmd, args)) },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cannotRun(err) })
	flags := cmd.Flags()
	flags.StringVar(&f.BaseURL, "base-url", "", "address of the API [AGEGATE_BASE_URL]")
	for _, k := range f.keys() {
		flags.StringVar(k.value, k.flag, "", k.help+" ["+k.env+"]")
	}
	flags.StringVar(&f.redirectFile, "redirect-secret-file", "",
		"file with the redirect secret of test mode [REDIRECT_SECRET]")
	flags.StringVar(&f.webhookFile, "webhook-secret-file", "",
		"file with the webhook secret of test mode [WEBHOOK_SECRET]")
	flags.StringVar(&f.listen, "listen", "", "open a webhook receiver at host:port")
	flags.StringVar(&f.WebhookURL, "webhook-url", "",
		"address under which the gateway reaches the receiver (default http://, then --listen)")
	flags.StringVar(&f.register, "register-webhook-url", "",
		"operator's command that registers the Webhook URL given as its last argument, split at spaces; "+
			"the run registers another one for some seconds, then --webhook-url again")
	flags.BoolVar(&f.WithoutWebhooks, "without-webhooks", false, "skip the cases about webhooks instead of failing")
	flags.StringArrayVar(&f.Cases, "case", nil,
		"run only the cases of this name or pattern, such as create.*; may be repeated")
	flags.IntVar(&f.Draws, "draws", conformance.DefaultDraws,
		"requests of each random case; a tenth of them makes sessions")
	flags.Uint64Var(&f.Seed, "seed", 0, "repeat the random requests of a report (default another each time)")
	flags.Float64Var(&f.Rate, "rate", conformance.DefaultRate, "requests a second; 0 is unlimited")
	flags.DurationVar(&f.CaseTimeout, "case-timeout", conformance.DefaultCaseTimeout,
		"longest time for one case, without its waits")
	flags.DurationVar(&f.WebhookWait, "webhook-wait", conformance.DefaultWebhookWait, "longest wait for one delivery")
	flags.DurationVar(&f.ExpiryWait, "expiry-wait", 0,
		"how long each of three cases may wait for sessions to expire; 0 skips them")
	flags.DurationVar(&f.TokenTTL, "token-ttl", conformance.DefaultTokenTTL, "life of a redirect token here")
	flags.StringVar(&f.report, "report", "text", "text, json, junit or html")
	flags.StringVar(&f.out, "out", "", "write the report into this file instead of standard output")
	flags.BoolVar(&f.plan, "plan", false, "say what the run needs and costs, list its cases, and end")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !cmd.Flags().Changed("seed") {
			f.Seed = rand.Uint64N(1 << 32) //nolint:gosec // repeatable on purpose
		}
		if err := c.completeConformance(&f); err != nil {
			return cannotRun(err)
		}
		return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	return cmd
}

// keyFlag is the flag of an optional key.
type keyFlag struct {
	value           *string
	flag, env, help string
}

func (f *conformanceFlags) keys() []keyFlag {
	return []keyFlag{
		{&f.TestKey, "test-key", "TEST_KEY", "test key of the tenant"},
		{&f.LiveKey, "live-key", "LIVE_KEY", "live key of the tenant; makes one live session"},
		{&f.OtherKey, "other-key", "OTHER_KEY", "key of another tenant"},
		{&f.RevokedKey, "revoked-key", "REVOKED_KEY", "revoked key"},
		{&f.DisabledKey, "disabled-key", "DISABLED_KEY", "key of a disabled tenant"},
		{&f.CappedKey, "capped-key", "CAPPED_KEY", "test key of a tenant whose daily cap is reached"},
		{&f.UnpaidKey, "unpaid-key", "UNPAID_KEY", "live key of a tenant with neither allowance nor credit"},
		{&f.BareKey, "bare-key", "BARE_KEY", "test key of a tenant with a Success URL and no Cancel URL"},
		{&f.LastTestKey, "last-test-key", "LAST_TEST_KEY",
			"test key of a tenant with one test session left today, which the run uses up"},
		{&f.LastLiveKey, "last-live-key", "LAST_LIVE_KEY", "live key of a tenant with one unit left, which the run holds"},
	}
}

// completeConformance reads values that no flag set from the environment and from
// files, and checks everything that can be checked without a gateway.
func (c *cli) completeConformance(f *conformanceFlags) error {
	c.complete(&f.BaseURL, "AGEGATE_BASE_URL")
	for _, k := range f.keys() {
		c.complete(k.value, k.env)
	}
	for _, s := range []struct {
		value                   *string
		flag, file, env, prefix string
	}{
		{&f.RedirectSecret, "--redirect-secret-file", f.redirectFile, "REDIRECT_SECRET", "rdsec_test_"},
		{&f.WebhookSecret, "--webhook-secret-file", f.webhookFile, "WEBHOOK_SECRET", "whsec_"},
	} {
		if s.file != "" {
			data, err := os.ReadFile(s.file)
			if err != nil {
				return fmt.Errorf("%s: %w", s.flag, err)
			}
			*s.value = strings.TrimSpace(string(data))
		}
		c.complete(s.value, s.env)
		if *s.value != "" && !strings.HasPrefix(*s.value, s.prefix) {
			return fmt.Errorf("%s must be the secret that begins with %s", s.env, s.prefix)
		}
	}
	if err := f.check(); err != nil {
		return err
	}
	return terminal.PlaceFor("--out", f.out)
}

// complete sets a value that no flag set from the environment.
func (c *cli) complete(value *string, name string) {
	if given, ok := c.env(name); ok && *value == "" {
		*value = given
	}
}

// check returns what is wrong with the flags.
func (f *conformanceFlags) check() error {
	switch {
	case f.BaseURL == "" || f.TestKey == "":
		return errors.New("--base-url and --test-key must be given")
	case f.Draws < 0 || f.Draws > 10_000:
		return errors.New("--draws must be from 0 to 10000")
	case !slices.Contains(conformance.Formats, f.report):
		return errors.New("--report must be text, json, junit or html")
	case f.Rate < 0 || f.ExpiryWait < 0 || min(f.CaseTimeout, f.WebhookWait, f.TokenTTL) <= 0:
		return errors.New("--rate and --expiry-wait must not be negative, and the other times must be positive")
	}
	return f.checkWebhooks()
}

func (f *conformanceFlags) checkWebhooks() error {
	switch {
	case f.WebhookURL != "" && f.listen == "":
		return errors.New("--webhook-url needs --listen")
	case f.register != "" && (f.WebhookURL == "" || strings.TrimSpace(f.register) == ""):
		return errors.New("--register-webhook-url needs a command, and --webhook-url")
	case f.listen != "" && f.WithoutWebhooks:
		return errors.New("--listen and --without-webhooks exclude each other")
	case f.listen != "" && f.WebhookSecret == "":
		return errors.New("webhooks need WEBHOOK_SECRET or --webhook-secret-file")
	}
	return nil
}

// run tests the gateway and writes the report. The error has an exit code.
func (f *conformanceFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	plan, err := conformance.PlanOf(f.Options)
	if err != nil {
		return cannotRun(err)
	}
	if f.plan {
		f.printPlan(stdout, plan)
		return nil
	}
	if f.listen != "" {
		if f.Listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", f.listen); err != nil {
			return cannotRun(fmt.Errorf("--listen: %w", err))
		}
	}
	if f.register != "" {
		f.Register = registerBy(f.register, stderr)
	}
	f.announce(stderr, plan)
	progress := caseProgress(stderr, suite.Passed, suite.Skipped)
	f.Progress = func(done, total int, r conformance.Result) { progress(done, total, r.Case, r.Outcome) }
	report, err := conformance.Run(ctx, f.Options)
	if err != nil {
		return cannotRun(err)
	}
	if err := writeOut(f.out, stdout, func(w io.Writer) error { return report.Write(w, f.report) }); err != nil {
		return cannotRun(err)
	}
	if code := report.ExitCode(); code != conformance.ExitPassed {
		return terminal.ExitError{Code: code, Err: errors.New(report.Summary())}
	}
	return nil
}

// registerBy returns a function that registers a Webhook URL with a command, whose
// output goes to w.
func registerBy(command string, w io.Writer) func(context.Context, string) error {
	return func(ctx context.Context, webhookURL string) error {
		args := append(strings.Fields(command), webhookURL)
		cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // the user's own command
		cmd.Stdout, cmd.Stderr = w, w
		return cmd.Run()
	}
}

// announce prints what the run needs and costs.
func (f *conformanceFlags) announce(w io.Writer, plan conformance.Plan) {
	fmt.Fprintf(w, "Testing %s with cases: %d; skipped: %d, see --plan.\nTest sessions it makes, at most: %d, of the "+
		"tenant's daily cap. Live sessions: %d",
		f.BaseURL, len(plan.Cases), plan.Skipped, plan.Sessions, plan.Live)
	if plan.Live > 0 {
		fmt.Fprint(w, ", whose unit is held until the session expires")
	}
	fmt.Fprintln(w, ".\nThe tenant needs a Success URL and a Cancel URL.")
	if f.Listener != nil {
		address := f.WebhookURL
		if address == "" {
			address = "http://" + f.Listener.Addr().String() + "/"
		}
		fmt.Fprintf(w, "Its Webhook URL must be %s, and the gateway must be allowed to connect there.\n", address)
	}
}

func (f *conformanceFlags) printPlan(w io.Writer, plan conformance.Plan) {
	f.announce(w, plan)
	for _, r := range plan.Cases {
		fmt.Fprintf(w, "\n%s: %s\n  (%s)\n", r.Case, r.Title, strings.Join(r.Cites, "; "))
		for _, d := range r.Details {
			fmt.Fprintf(w, "  skipped: %s\n", d)
		}
	}
}

// caseProgress returns a function that prints how many cases are done, at most
// every two seconds, and every case whose outcome is not one of good.
func caseProgress(w io.Writer, good ...suite.Outcome) func(done, total int, name string, o suite.Outcome) {
	last := time.Now()
	return func(done, total int, name string, o suite.Outcome) {
		if !slices.Contains(good, o) || done == total || time.Since(last) > 2*time.Second {
			last = time.Now()
			fmt.Fprintf(w, "%d of %d cases: %s %s\n", done, total, name, o)
		}
	}
}

// cannotRun adds to an error the exit code for a gateway that could not be
// tested.
func cannotRun(err error) error {
	if err == nil {
		return nil
	}
	return terminal.ExitError{Code: conformance.ExitCannotRun, Err: err}
}
