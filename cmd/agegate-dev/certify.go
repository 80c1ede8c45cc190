package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"agegate/cmd/internal/terminal"
	"agegate/internal/lab/certify"
	"agegate/internal/lab/suite"
	"agegate/internal/lab/testkey"
	"agegate/internal/lab/verify"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/webhook"

	"github.com/spf13/cobra"
)

const certifyHelp = `Attack a shop's integration with what a thief would try: redirects and webhooks
that are forged, old, changed or repeated, and results that are no pass. Each case
expects that an order is released on a pass, once, and on nothing else.

It signs with secrets of test mode only, and about test sessions that the shop makes
for the run. It reaches only hosts that the tenant has registered, and this machine,
private networks and public addresses among them. It follows no redirect, and shows
nothing of an answer but its status and the names of its cookies.`

const certifyRunHelp = `Attack a shop, and say which forgery it let in and how to mend it. The file of
--target describes the shop:

  releases_on: [redirect, webhook, polling]  # the ways that release an order
  webhook_url: https://shop.example/webhook  # leave it out to send no webhook
  order:        # begins an order; leads to the verification URL, by a redirect
    url: https://shop.example/buy            #   or as verification_url in JSON
    form: {age: "18"}                        # or json: {age: 18}
  age: 18       # that the order needs; by default the member age of its form or JSON
  poll:         # lets the shop look the status up; leave it out if it polls by itself
    url: https://shop.example/orders/{session}
  probe:        # answers {"released": 0}: how often the order was released
    url: https://shop.example/orders/{session}/released
  settle: 2s    # how long a release may take
  replay: 11s   # after which a pass comes again
  headers: {}   # of every request but webhooks, such as a staging site's password

Each order begins in its own browser, whose cookies its other requests carry. The
answer to an order names its session: the header Agegate-Session, or session_id in
JSON.

The test key is read from AGEGATE_API_KEY (svc_test_…), and the secrets of test mode
from REDIRECT_SECRET (rdsec_test_…) and WEBHOOK_SECRET (whsec_…). Without a secret,
the cases that need it are left out; the command says which.

The exit status is 0 when every case passed, 1 when one failed, and 2 when the shop
could not be tested.`

func (c *cli) certifyCommand() *cobra.Command {
	return terminal.Group("certify", "Attack a shop's integration, to see that it lets no forgery in", certifyHelp,
		certifyPlan(), c.certifyRun())
}

func certifyPlan() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use: "plan", Short: "List the cases, and what a run reaches", Args: cobra.NoArgs,
		Long: `List the cases and what must hold in each. With --target, check the description of
the shop and say what a run reaches. Nothing is sent.`,
	}
	cmd.Flags().StringVar(&path, "target", "", "description of the shop, a YAML file (see agegate-dev certify run --help)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		out := cmd.OutOrStdout()
		plan := certify.Plan()
		fmt.Fprintf(out, "Cases: %d. Test sessions that a run makes, of the tenant's daily cap, at most: %d.\n", len(plan),
			certify.MaxSessions())
		if path != "" {
			target, err := readTarget(path)
			if err != nil {
				return cannotRun(err)
			}
			fmt.Fprintf(out, "It reaches the Success URL and the Webhook URL, and:\n")
			for _, r := range target.Requests() {
				fmt.Fprintf(out, "  %-5s  %s\n", r.Name, r.Place())
			}
		}
		for _, c := range plan {
			fmt.Fprintf(out, "\n%s: %s\n", c.Name, c.Title)
		}
		return nil
	}
	return cmd
}

func (c *cli) certifyRun() *cobra.Command {
	var path, report, out, gateway, front string
	var cases []string
	cmd := &cobra.Command{
		Use: "run --gateway URL --target FILE", Short: "Attack a shop and report what it let in", Long: certifyRunHelp,
		Args: func(cmd *cobra.Command, args []string) error { return cannotRun(cobra.NoArgs(cmd, args)) },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cannotRun(err) })
	cmd.Flags().StringVar(&path, "target", "", "description of the shop, a YAML file")
	cmd.Flags().StringArrayVar(&cases, "case", nil,
		"try only the cases of this name or pattern, such as redirect.*; may be repeated")
	cmd.Flags().StringVar(&report, "report", "text", "text, json or junit")
	cmd.Flags().StringVar(&gateway, "gateway", "", "address of the gateway's API")
	cmd.Flags().StringVar(&front, "front", "", "stand at host:port between the shop and the gateway, to let lookups fail")
	cmd.Flags().StringVar(&out, "out", "", "write the report into this file instead of standard output")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if path == "" || gateway == "" {
			return cannotRun(errors.New("--gateway and --target must be given"))
		}
		if !slices.Contains(suite.Formats, report) {
			return cannotRun(errors.New("--report must be text, json or junit"))
		}
		if err := terminal.PlaceFor("--out", out); err != nil {
			return cannotRun(err)
		}
		target, err := readTarget(path)
		if err != nil {
			return cannotRun(err)
		}
		if front != "" {
			if target.Front, err = certify.NewFront(gateway); err != nil {
				return cannotRun(err)
			}
			listener, err := net.Listen("tcp", front)
			if err != nil {
				return cannotRun(fmt.Errorf("--front: %w", err))
			}
			server := &http.Server{Handler: target.Front, ReadHeaderTimeout: certify.AnswerLimit,
				ReadTimeout: certify.AnswerLimit, WriteTimeout: 2 * time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
			go func() { _ = server.Serve(listener) }() // until Close
			defer func() { _ = server.Close() }()      // the run is over
		}
		found, err := c.certify(cmd.Context(), gateway, target, cases, cmd.ErrOrStderr())
		if err != nil {
			return cannotRun(err)
		}
		if err := writeOut(out, cmd.OutOrStdout(), func(w io.Writer) error { return found.Write(w, report) }); err != nil {
			return cannotRun(err)
		}
		if !found.Passed() {
			return terminal.ExitError{Code: 1, Err: errors.New(found.Summary())}
		}
		return nil
	}
	return cmd
}

// nearNets are the networks of a developer's machine, which a run reaches.
var nearNets = []netip.Prefix{
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("fc00::/7"),
}

// certify runs the cases and prints their progress.
func (c *cli) certify(
	ctx context.Context, address string, target certify.Target, cases []string, stderr io.Writer,
) (*certify.Report, error) {
	key, _ := c.env("AGEGATE_API_KEY")
	gateway, err := testkey.New(address, key)
	if err != nil {
		return nil, err
	}
	known, err := c.secrets()
	if err != nil {
		return nil, err
	}
	for _, missing := range certify.LeftOut(target, known) {
		fmt.Fprintln(stderr, "Left out, for want of", missing)
	}
	fmt.Fprintln(stderr, "Each case is tried first, and judged when its order has had time to be released.")
	progress := caseProgress(stderr, suite.Passed)
	tools := certify.Tools{Client: webhook.NewClient(nearNets, nil), Random: rand.Reader, Now: now}
	return certify.Attack(ctx, gateway, known, target, tools, certify.Options{
		Cases: cases, Progress: func(done, total int, r certify.Result) { progress(done, total, r.Case, r.Outcome) },
	})
}

// secrets reads the signing secrets of test mode that the environment has.
func (c *cli) secrets() (known certify.Secrets, err error) {
	if known.Redirect, err = c.optionalSecret("REDIRECT_SECRET", credential.TestRedirectSecretPrefix); err != nil {
		return known, err
	}
	known.Webhook, err = c.optionalSecret("WEBHOOK_SECRET", credential.WebhookSecretPrefix)
	return known, err
}

// optionalSecret reads a secret from a variable; nil if it is not set.
func (c *cli) optionalSecret(name, prefix string) ([]byte, error) {
	if text, _ := c.env(name); text == "" {
		return nil, nil
	}
	return c.secret(name, prefix)
}

// secret reads a secret from a variable that must be set.
func (c *cli) secret(name, prefix string) ([]byte, error) {
	text, _ := c.env(name)
	if !strings.HasPrefix(text, prefix) {
		return nil, fmt.Errorf("%s must be set to the secret that begins with %s", name, prefix)
	}
	key, err := verify.Secret(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return key, nil
}

// readTarget reads the file of --target.
func readTarget(path string) (certify.Target, error) {
	file, err := os.Open(path) //nolint:gosec // the operator's own file
	if err != nil {
		return certify.Target{}, fmt.Errorf("--target: %w", err)
	}
	target, err := certify.ReadTarget(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return certify.Target{}, fmt.Errorf("--target %s: %w", strings.TrimSpace(path), err)
	}
	return target, nil
}

// writeOut writes a report into a file, or to standard output without one.
func writeOut(path string, stdout io.Writer, write func(io.Writer) error) error {
	if path == "" {
		return write(stdout)
	}
	file, err := os.Create(path) //nolint:gosec // the operator's own file
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
