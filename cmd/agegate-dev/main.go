// Command agegate-dev is for developers who integrate a gateway: it passes events to
// a server on their machine, attacks their shop, tests a gateway against its contract,
// and explains why a redirect or a delivery does not verify. It needs no C library, no
// models and no database.
package main

import (
	"context"
	"io"
	"strings"
	"time"
	"unicode"

	"agegate/cmd/internal/terminal"
	"agegate/internal/rules/tenant"

	"github.com/spf13/cobra"
)

// version is set at link time by the Makefile.
var version = "development"

func main() { terminal.Main("agegate-dev", run) }

// cli holds what the commands share. env returns values without white space around
// them, which files and secrets leave there.
type cli struct{ env terminal.Lookup }

// run executes the program. It returns when the command has ended or ctx is done.
func run(ctx context.Context, args []string, env terminal.Lookup, stdout, stderr io.Writer) error {
	c := &cli{func(name string) (string, bool) {
		value, ok := env(name)
		if !ok {
			value, ok = env("AGEGATE_" + name) // as shops call their secrets
		}
		return strings.TrimFunc(value, func(c rune) bool { return unicode.IsSpace(c) || tenant.IsHidden(c) }), ok
	}}
	root := &cobra.Command{
		Use:   "agegate-dev",
		Short: "Tools for developers who integrate an agegate gateway",
		Long: `agegate-dev helps developers who integrate an agegate gateway. It runs on their machine
and needs no gateway there.

Secrets are read from environment variables, never from flags.`,
	}
	root.AddCommand(c.listenCommand(), c.certifyCommand(), c.conformanceCommand(), c.verifyCommand())
	terminal.AddVersion(root, version)
	return terminal.Execute(ctx, root, args, stdout, stderr)
}

// now is the program's clock: UTC in whole microseconds.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
