// Package terminal holds what the programs share: how they start and end, and how they print.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Lookup returns the value of an environment variable, like os.LookupEnv.
type Lookup = func(name string) (string, bool)

// Main runs a program until it ends, or until SIGTERM or Ctrl-C; a second one of these ends it at once. It prints the
// error of run, and exits with the code of an ExitError or with 1.
func Main(name string, run func(ctx context.Context, args []string, env Lookup, stdout, stderr io.Writer) error) {
	ctx, stop := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		stop()
		again := <-signals
		fmt.Fprintf(os.Stderr, "%s: %s again: ended at once\n", name, again)
		os.Exit(1) // and not by the signal, which the kernel keeps from a container's first process
	}()
	err := run(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
	if err == nil {
		return
	}
	exit := ExitError{Code: 1, Err: err}
	if _ = errors.As(err, &exit); exit.Err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	}
	os.Exit(exit.Code)
}

// ExitError is an error that sets the exit code. Without Err it was reported already.
type ExitError struct {
	Code int
	Err  error
}

// Error implements error.
func (e ExitError) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap returns the error without the code.
func (e ExitError) Unwrap() error { return e.Err }

// values says what a flag of a type may be.
var values = map[string]string{"bool": "true or false", "int": "a whole number", "int64": "a whole number",
	"float64": "a number such as 0.5", "duration": "a time such as 30s, 10m or 24h"}

// Execute runs the command that args name.
func Execute(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) error {
	root.SilenceUsage, root.SilenceErrors = true, true
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
			flags := &cobra.Command{SuggestionsMinimumDistance: 2}
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				flags.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
			})
			return meant(err, flags, unknown.GetSpecifiedName(), "--")
		}
		if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok && values[bad.GetFlag().Value.Type()] != "" {
			return fmt.Errorf("--%s must be %s", bad.GetFlag().Name, values[bad.GetFlag().Value.Type()])
		} else if ok && bad.GetFlag().Value.Type() == "func" {
			return bad.Unwrap() // without the value
		}
		return err
	})
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return root.ExecuteContext(ctx)
}

// meant adds to an error about an unknown name those of a command's subcommands that are like it.
func meant(err error, among *cobra.Command, name, prefix string) error {
	if near := among.SuggestionsFor(name); len(near) > 0 {
		return fmt.Errorf("%w: did you mean %s%s?", err, prefix, strings.Join(near, " or "+prefix))
	}
	return err
}

// Group returns a command that only has subcommands. Without one it prints its help; an unknown one is an error.
func Group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long, SuggestionsMinimumDistance: 2,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.NoArgs(cmd, args); err != nil {
				return meant(err, cmd, args[0], "")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		}}
	cmd.AddCommand(commands...)
	return cmd
}

// AddVersion lets a program print its version by a command and by --version.
func AddVersion(root *cobra.Command, version string) {
	goVersion := "unknown Go"
	if info, ok := debug.ReadBuildInfo(); ok {
		goVersion = info.GoVersion
	}
	root.Version = fmt.Sprintf("%s %s (%s)\n", root.Name(), version, goVersion)
	root.SetVersionTemplate("{{.Version}}")
	root.AddCommand(&cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), root.Version)
			return err
		}})
}

// PlaceFor checks that the directory of a flag's file exists, before the work for
// the file begins. An empty path is accepted.
func PlaceFor(flag, path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return fmt.Errorf("%s: there is no directory %s", flag, filepath.Dir(path))
	}
	return nil
}
