package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"agegate/cmd/internal/terminal"
	"agegate/internal/app"
	"agegate/internal/app/config"
	"agegate/internal/app/doctor"

	"github.com/spf13/cobra"
)

const doctorHelp = `Examine the installation and say what to do: the configuration, this machine's
clock, the models, the public addresses and whether a reverse proxy passes
WebSockets to the hosted page, the database and its clock, the secret key, and
the hosts of the callback URLs of all tenants that are not disabled. To these it
connects as a webhook would, makes the TLS handshake and sends no request; of
their URLs it prints the hosts only.

It changes nothing, except that it writes a row to the database and deletes it, to see
whether there is room. It can run while the gateway runs, with the same variables. It
takes some seconds, and at most some minutes.

The exit status is 0 when no problem was found, and 1 otherwise.`

func (c *cli) doctorCommand() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{Use: "doctor", Short: "Examine the installation and say what to do", Long: doctorHelp,
		Args: cobra.NoArgs}
	cmd.Flags().DurationVar(&timeout, "timeout", doctor.DefaultTimeout, "longest wait for one answer")
	return terminal.Printing(cmd, terminal.OneObject, func(_ []string, out *terminal.Output) error {
		var report doctorReport
		progress := showProgress(cmd.ErrOrStderr())
		c.examine(cmd.Context(), timeout, progress, func(f doctor.Finding) {
			report.add(f)
			if !out.JSON {
				progress("")
				printFinding(cmd.OutOrStdout(), f)
			}
		})
		progress("")
		if err := out.Print(report, func(io.Writer) {}); err != nil {
			return err
		}
		if report.Problems > 0 {
			return fmt.Errorf("problems found: %d", report.Problems)
		}
		return nil
	})
}

// doctorReport is the output of --json.
type doctorReport struct {
	Problems int              `json:"problems"`
	Warnings int              `json:"warnings"`
	Findings []doctor.Finding `json:"findings"`
}

func (r *doctorReport) add(f doctor.Finding) {
	r.Findings = append(r.Findings, f)
	if f.Grade == doctor.Problem {
		r.Problems++
	}
	if f.Grade == doctor.Warning {
		r.Warnings++
	}
}

// examine reports what is wrong with the configuration, or everything that doctor finds.
func (c *cli) examine(ctx context.Context, timeout time.Duration, progress func(string), tell func(doctor.Finding)) {
	cfg, err := c.load(config.SecretKeyName)
	if err != nil {
		lines := strings.Split(strings.TrimSpace(problemsOf(err)), "\n")
		for i, line := range lines {
			f := doctor.Finding{Check: "configuration", Grade: doctor.Problem, Found: strings.TrimSpace(line)}
			if i == len(lines)-1 {
				f.Advice = "correct what is wrong, and run agegate doctor again: nothing else was examined"
			}
			tell(f)
		}
		return
	}
	sealer, err := app.NewSealer(cfg)
	if err != nil {
		tell(doctor.Finding{Check: "configuration", Grade: doctor.Problem, Found: err.Error(), Advice: "set 32 bytes"})
		return
	}
	doctor.Examine(ctx, doctor.Options{Config: cfg, Sealer: sealer, Now: now, Timeout: timeout, Tell: tell,
		Progress: progress})
}

// showProgress returns a function that shows the current step in one line of a
// terminal, and clears the line for an empty text.
func showProgress(w io.Writer) func(string) {
	if !isTerminal(w) {
		return func(string) {}
	}
	return func(text string) { fmt.Fprintf(w, "\r\x1b[K%s\r", text) }
}

// problemsOf returns the single problems of a configuration error, one for each line.
func problemsOf(err error) string {
	if problems, ok := errors.AsType[config.Error](err); ok {
		err = errors.Join(problems...)
	}
	return err.Error()
}

func printFinding(w io.Writer, f doctor.Finding) {
	fmt.Fprintf(w, "%-8s %s: %s\n", f.Grade, f.Check, f.Found)
	if f.Advice != "" {
		fmt.Fprintf(w, "%-8s → %s\n", "", f.Advice)
	}
}
