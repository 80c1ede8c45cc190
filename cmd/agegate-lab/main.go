// Command agegate-lab measures the models on pictures.
package main

import (
	"context"
	"io"
	"slices"
	"time"

	"agegate/cmd/internal/terminal"
	"agegate/internal/app/config"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// version is set at link time by the Makefile.
var version = "development"

func main() {
	// Pictures are in memory only: a core dump would write them to disk.
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	terminal.Main("agegate-lab", run)
}

// cli holds what the commands share: the sources of the configuration.
type cli struct {
	env   terminal.Lookup
	flags map[string]*string // by variable name
}

// run executes the program. It returns when the command has ended or ctx is done.
func run(ctx context.Context, args []string, env terminal.Lookup, stdout, stderr io.Writer) error {
	c := &cli{env, map[string]*string{}}
	root := &cobra.Command{
		Use:   "agegate-lab",
		Short: "Measure agegate's models on pictures",
		Long: `agegate-lab measures the age estimate and the reading of documents on pictures. It
works on this machine alone: nothing is sent.`,
	}
	c.addConfigFlags(root)
	root.AddCommand(c.evalCommand(), c.cropsCommand(), c.fitCommand(), c.documentCommand())
	terminal.AddVersion(root, version)
	return terminal.Execute(ctx, root, args, stdout, stderr)
}

// variables are those of the gateway's configuration that concern the models.
var variables = []string{"AGEGATE_MODELS_DIR", "AGEGATE_INFERENCE_WORKERS"}

// addConfigFlags adds a flag for each of the variables.
func (c *cli) addConfigFlags(root *cobra.Command) {
	for _, v := range config.Variables {
		if slices.Contains(variables, v.Name) {
			c.flags[v.Name] = root.PersistentFlags().String(v.Flag(), "", v.Usage())
		}
	}
}

// load reads the variables: a flag wins over the environment.
func (c *cli) load() (config.Config, error) {
	return config.Load(func(name string) (string, bool) {
		flag := c.flags[name]
		if flag == nil {
			return "", false // does not concern the models
		}
		if *flag != "" {
			return *flag, true
		}
		return c.env(name)
	})
}

// now is the program's clock: UTC in whole microseconds.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
