package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"agegate/internal/app"
	"agegate/internal/app/config"
	"agegate/internal/backoffice/certify"
	"agegate/internal/backoffice/suite"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"

	"github.com/spf13/cobra"
)

const certifyHelp = `Attack a shop's integration with what a thief would try: redirects and webhooks
that are forged, old, changed or repeated, and results that are no pass. Each case
expects that an order is released on a pass, once, and on nothing else.

It signs with the tenant's test secrets only, and about test sessions that the shop
makes for the run. It reaches only hosts that the tenant has registered, under the
rules for webhooks (AGEGATE_WEBHOOK_ALLOW_NETS), follows no redirect, shows nothing
of an answer, and tests a tenant's host once in ten minutes. Every run is in the
tenant's audit log. Run it while the gateway runs, with the gateway's configuration.

With --gateway and a test key in AGEGATE_API_KEY it needs neither database nor
configuration, and tries the redirects and lookups that need no secret.`

const certifyRunHelp = `Attack a shop, and say which forgery it let in and how to mend it. The file of
--target describes the shop:

  tenant: 0190c0de-5a3b-7c1d-9e2f-4b6a8d0c1e3f
  releases_on: [redirect, webhook, polling]  # the ways that release an order
  order:        # begins an order; leads to the verification URL, by a redirect
    url: https://shop.example/buy            #   or as verification_url in JSON
    form: {age: "18"}                        # or json: {age: 18}
  poll:         # lets the shop look the status up; leave it out if it polls by itself
    url: https://shop.example/orders/{session}
  probe:        # answers {"released": 0}: how often the order was released
    url: https://shop.example/orders/{session}/released
  settle: 2s    # how long a release may take
  headers: {}   # of every request but webhooks, such as a staging site's password

Each order begins in its own browser, whose cookies its other requests carry.

With --gateway, tenant is not needed, and the answer to an order must name its
session: the header Agegate-Session, or session_id in JSON.

The exit status is 0 when every case passed, 1 when one failed, and 2 when the shop
could not be tested.`

func (c *cli) certifyCommand() *cobra.Command {
	return group("certify", "Attack a shop's integration, to see that it lets no forgery in", certifyHelp, certifyPlan(),
		c.certifyRun())
}

func certifyPlan() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use: "plan", Short: "List the cases, and what a run reaches", Args: cobra.NoArgs,
		Long: "List the cases and what must hold in each. With --target, check the description of\nthe shop and say what a run reaches. Nothing is sent.",
	}
	cmd.Flags().StringVar(&path, "target", "", "description of the shop, a YAML file (see agegate certify run --help)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		out := cmd.OutOrStdout()
		plan := certify.Plan()
		fmt.Fprintf(out, "%d cases. A run makes at most %d test sessions, of the tenant's daily cap.\n", len(plan),
			certify.MaxSessions())
		if path != "" {
			target, err := readTarget(path)
			if err != nil {
				return cannotRun(err)
			}
			fmt.Fprintf(out, "It reaches the tenant's Success URL and Webhook URL, and:\n")
			for _, r := range target.Requests() {
				fmt.Fprintf(out, "  %-5s  %s\n", r.Name, r.Place)
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
	var path, report, out, gateway string
	var cases []string
	cmd := &cobra.Command{
		Use: "run --target FILE", Short: "Attack a shop and report what it let in", Long: certifyRunHelp,
		Args: func(cmd *cobra.Command, args []string) error { return cannotRun(cobra.NoArgs(cmd, args)) },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cannotRun(err) })
	cmd.Flags().StringVar(&path, "target", "", "description of the shop, a YAML file")
	cmd.Flags().StringArrayVar(&cases, "case", nil,
		"try only the cases of this name or pattern, such as redirect.*; may be repeated")
	cmd.Flags().StringVar(&report, "report", "text", "text, json or junit")
	cmd.Flags().StringVar(&gateway, "gateway", "",
		"address of the gateway's API, to run with the test key of AGEGATE_API_KEY alone")
	cmd.Flags().StringVar(&out, "out", "", "write the report into this file instead of standard output")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if path == "" {
			return cannotRun(errors.New("--target must be given"))
		}
		if !slices.Contains(suite.Formats, report) {
			return cannotRun(errors.New("--report must be text, json or junit"))
		}
		if err := placeFor("--out", out); err != nil {
			return cannotRun(err)
		}
		target, err := readTarget(path)
		if err != nil {
			return cannotRun(err)
		}
		attack := c.certify
		if gateway != "" {
			attack = c.certifyByKey(gateway)
		}
		found, err := attack(cmd.Context(), target, cases, cmd.ErrOrStderr())
		if err != nil {
			return cannotRun(missing("tenant", err))
		}
		if err := writeOut(out, cmd.OutOrStdout(), func(w io.Writer) error { return found.Write(w, report) }); err != nil {
			return cannotRun(err)
		}
		if !found.Passed() {
			return exitError{1, errors.New(found.Summary())}
		}
		return nil
	}
	return cmd
}

// certify runs the cases and prints their progress.
func (c *cli) certify(
	ctx context.Context, target certify.Target, cases []string, stderr io.Writer,
) (report *certify.Report, err error) {
	err = c.withDatabase(ctx, func(db *store.Store, cfg config.Config) error {
		sealer, err := app.NewSealer(cfg)
		if err != nil {
			return err
		}
		tenants := tenant.NewService(db, sealer, tenant.CallbackRule{AllowInsecure: cfg.AllowInsecureCallbacks}, rand.Reader,
			now)
		fmt.Fprintln(stderr, "Each case is tried first, and judged when its order has had time to be released.")
		progress := caseProgress(stderr, suite.Passed)
		report, err = app.NewCertifier(cfg, db, tenants, sealer, now).Run(ctx, commandLine(), target, certify.Options{
			Cases: cases, Progress: func(done, total int, r certify.Result) { progress(done, total, r.Case, r.Outcome) },
		})
		return err
	}, config.SecretKeyName)
	return report, err
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
