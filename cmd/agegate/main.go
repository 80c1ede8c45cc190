// Command agegate is the age-verification gateway and its operator tools.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"agegate/internal/app/config"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

func main() {
	time.Local = time.UTC // the database driver returns local times
	// Pictures and documents are in memory only: a core dump would write them to disk.
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt) }) // a second Ctrl-C does not wait
	err := run(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "agegate:", err)
		code := 1
		if exit := (exitError{}); errors.As(err, &exit) {
			code = exit.code
		}
		os.Exit(code)
	}
}

// exitError is an error that sets the exit code.
type exitError struct {
	code int
	error
}

// Unwrap returns the error without the code.
func (e exitError) Unwrap() error { return e.error }

// run executes the program. It returns when the command has ended or ctx is done.
func run(ctx context.Context, args []string, env config.Lookup, stdout, stderr io.Writer) error {
	cli := &cli{env: env, flags: map[string]*string{}}
	root := &cobra.Command{
		Use:           "agegate",
		Short:         "Open, self-hosted age-verification gateway",
		Long:          "agegate verifies that a shopper appears to be over an age, and reports to the merchant\nby signed redirect, signed webhook and status lookup.\n\nEvery AGEGATE_ variable has a flag of the same name; a flag wins over its variable.",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cli.addConfigFlags(root)
	root.AddCommand(cli.serveCommand(), cli.demoCommand(), cli.migrateCommand(), cli.databaseCommand(), cli.healthCommand(), cli.tenantCommand(),
		cli.keyCommand(), cli.webhookCommand(), cli.redirectCommand(), cli.userCommand(), cli.secretKeyCommand(),
		cli.trustCommand(), cli.verifierCommand(), cli.sessionCommand(), cli.pruneCommand(), cli.auditCommand(),
		cli.evidenceCommand(), cli.driftCommand(), cli.doctorCommand(), cli.evalCommand(), cli.cropsCommand(),
		cli.documentCommand(), cli.conformanceCommand(), cli.certifyCommand(), cli.listenCommand(), versionCommand())
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return root.ExecuteContext(ctx)
}

// cli holds what the subcommands share: the sources of the configuration.
type cli struct {
	env   config.Lookup
	flags map[string]*string // by variable name
}

// addConfigFlags adds a flag for every variable that is not secret.
func (c *cli) addConfigFlags(root *cobra.Command) {
	for _, v := range config.Variables {
		if v.Secret {
			continue
		}
		help := v.Help + " [" + v.Name + "]"
		if v.Default != "" {
			help += fmt.Sprintf(" (default %s)", v.Default)
		}
		c.flags[v.Name] = root.PersistentFlags().String(v.Flag(), "", help)
	}
}

// load reads the configuration: a flag wins over the environment. required names
// the variables that must be set.
func (c *cli) load(required ...string) (config.Config, error) {
	return c.loadOver(nil, required...)
}

// loadOver is load with defaults for variables that neither a flag nor the
// environment sets.
func (c *cli) loadOver(defaults map[string]string, required ...string) (config.Config, error) {
	if flag := c.flags[config.DatabaseURLName]; flag != nil && config.HasPassword(*flag) {
		return config.Config{}, fmt.Errorf("--database-url must not have a password, which other users of this machine could see: set %s instead", config.DatabaseURLName)
	}
	cfg, err := config.Load(func(name string) (string, bool) {
		if flag := c.flags[name]; flag != nil && *flag != "" {
			return *flag, true
		}
		if value, ok := c.env(name); ok && value != "" {
			return value, true
		}
		value, ok := defaults[name]
		return value, ok
	}, required...)
	cfg.Version = version
	return cfg, err
}
