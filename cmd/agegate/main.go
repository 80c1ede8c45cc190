// Command agegate is the age-verification gateway and its operator tools.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"agegate/cmd/internal/terminal"
	"agegate/internal/app/config"
	"agegate/internal/check/inference"
	"agegate/internal/rules/credential"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// version is set at link time by the Makefile.
var version = "development"

func main() {
	time.Local = time.UTC // the database driver returns local times
	// Pictures and documents are in memory only: a core dump would write them to disk.
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	terminal.Main("agegate", run)
}

// run executes the program. It returns when the command has ended or ctx is done.
func run(ctx context.Context, args []string, env terminal.Lookup, stdout, stderr io.Writer) error {
	cli := &cli{env: config.Lookup(env), flags: map[string]*string{}}
	root := &cobra.Command{
		Use:   "agegate",
		Short: "Open, self-hosted age-verification gateway",
		Long: `agegate verifies that a shopper appears to be over an age, and reports to the merchant
by signed redirect, signed webhook and status lookup.

Every AGEGATE_ variable that holds no secret has a flag of the same name, which wins over it.
A command refuses the flags that it does not read.`,
		PersistentPreRunE: refuseUnread,
	}
	cli.addConfigFlags(root)
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "Global Flags:\n{{.InheritedFlags.FlagUsages | trim"+
		"TrailingWhitespaces}}", `Use "agegate --help" for the flags of the configuration.`, 1))
	root.AddCommand(cli.serveCommand(), cli.demoCommand(), cli.migrateCommand(),
		terminal.Group("database", "Copy the database to another server, and say that it was backed up", "",
			cli.databaseCopy(), cli.databaseBackedUp()),
		terminal.Group("key", "Manage API keys", "", cli.keyCreate(), cli.keyRevoke(), cli.keyList()),
		cli.healthCommand(), cli.tenantCommand(), cli.webhookCommand(), cli.redirectCommand(),
		cli.userCommand(), cli.secretKeyCommand(), cli.trustCommand(), cli.verifierCommand(), cli.sessionCommand(),
		cli.pruneCommand(), cli.ledgerCommand(), cli.auditCommand(), cli.evidenceCommand(), cli.doctorCommand(),
		manualCommand())
	terminal.AddVersion(root, version)
	for name, now := range moved {
		root.AddCommand(movedCommand(name, name, now))
	}
	err := terminal.Execute(ctx, root, args, stdout, stderr)
	if exitCode(err) == exitConfig {
		err = terminal.ExitError{Code: exitConfig, Err: err}
	}
	return err
}

// exitConfig is the exit code of a command whose configuration must be corrected: it
// would fail again. It is EX_CONFIG of sysexits.h.
const exitConfig = 78

// exitCode returns the exit code for an error of a command.
func exitCode(err error) int {
	_, isConfig := errors.AsType[config.Error](err)
	if isConfig || errors.Is(err, credential.ErrSealed) || errors.Is(err, inference.ErrMissing) {
		return exitConfig
	}
	return 1
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
		c.flags[v.Name] = root.PersistentFlags().String(v.Flag(), "", v.Usage())
	}
}

// flagsRead names the flags of the configuration that a command, or each of a group, reads besides --database-url;
// * are all. A tenant's commands read the floor of margins, which is the gateway's, from variables alone.
var flagsRead = map[string]string{
	"serve": "*", "demo": "*", "doctor": "*", "health": "*", "evidence": "*", "evidence key": "", "evidence verify": "",
	"tenant":       "allow-insecure-callbacks webhook-allow-nets nat64-prefixes",
	"trust source": "allow-insecure-callbacks webhook-allow-nets nat64-prefixes",
	"trust sync":   "allow-insecure-callbacks webhook-allow-nets nat64-prefixes",
	"user":         "listen base-url dashboard dashboard-url dashboard-listen mail-from",
	"verifier":     "listen base-url verify-url",
}

// refuseUnread refuses a flag of the configuration that the command does not read: it would change nothing.
func refuseUnread(cmd *cobra.Command, _ []string) error {
	read, known := "", false
	for at := cmd; at.HasParent() && !known; at = at.Parent() {
		read, known = flagsRead[strings.TrimPrefix(at.CommandPath(), "agegate ")]
	}
	for _, v := range config.Variables {
		f := cmd.Root().PersistentFlags().Lookup(v.Flag()) // not one of the command's own, which may have its name
		if f != nil && f.Changed && read != "*" && !slices.Contains(strings.Fields("database-url "+read), f.Name) {
			return terminal.ExitError{Code: 2, Err: fmt.Errorf("%s does not read --%s: give it to agegate serve, or set %s",
				cmd.CommandPath(), f.Name, v.Name)}
		}
	}
	return nil
}

// load reads the configuration: a flag wins over the environment, and that over the settings of a demo in this
// directory. required names the variables that must be set.
func (c *cli) load(required ...string) (config.Config, error) {
	return c.loadOver(c.demoDefaults(), required...)
}

// loadExisting is load for a command that makes no SQLite file: without the gateway's variables it would report
// success on an empty one.
func (c *cli) loadExisting(required ...string) (config.Config, error) {
	cfg, err := c.load(required...)
	if path, missing := cfg.NoFileYet(); err == nil && missing {
		err = fmt.Errorf("there is no database %s: set %s as for the gateway, or work in its directory; agegate serve "+
			"and agegate migrate make a new one", path, config.DatabaseURLName)
	}
	return cfg, err
}

// given returns what a flag or the environment sets.
func (c *cli) given(name string) (string, bool) {
	if flag := c.flags[name]; flag != nil && *flag != "" {
		return *flag, true
	}
	value, ok := c.env(name)
	return value, ok && value != ""
}

// loadOver is load with defaults for variables that neither a flag nor the environment sets.
func (c *cli) loadOver(defaults map[string]string, required ...string) (config.Config, error) {
	if flag := c.flags[config.DatabaseURLName]; flag != nil && config.HasPassword(*flag) {
		return config.Config{}, fmt.Errorf("--database-url must not have a password, which other users of this machine "+
			"could see: set %s instead", config.DatabaseURLName)
	}
	cfg, err := config.Load(func(name string) (string, bool) {
		if value, ok := c.given(name); ok {
			return value, true
		}
		value, ok := defaults[name]
		return value, ok
	}, required...)
	if unknown := config.Unknown(os.Environ()); unknown != nil {
		others, _ := errors.AsType[config.Error](err)
		err = append(config.Error(unknown), others...)
	}
	cfg.Version, cfg.Traces.Unread = version, config.Unread(os.Environ())
	return cfg, err
}
