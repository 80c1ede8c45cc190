package main

import (
	"errors"
	"io"
	"log/slog"

	"agegate/cmd/internal/terminal"
	"agegate/internal/app"
	"agegate/internal/app/config"

	"github.com/spf13/cobra"
)

func (c *cli) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway",
		Long: `Run the gateway until SIGTERM or Ctrl-C. It migrates the database when it starts.
Any number of replicas may serve one PostgreSQL database; a SQLite file has one
server. --role api and --role pages run the API and the hosted page apart.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			defaults := map[string]string{}
			if isTerminal(cmd.ErrOrStderr()) {
				defaults[config.LameDuckName] = "0s"
			}
			cfg, err := c.loadOver(defaults, config.SecretKeyName)
			if err != nil {
				return err
			}
			log := newLogger(cmd.ErrOrStderr(), cfg)
			err = advised(serve(cmd, cfg, log))
			if err != nil && cfg.LogFormat == config.LogJSON {
				log.Error("the gateway has failed", "error", err)
				return terminal.ExitError{Code: exitCode(err)}
			}
			return err
		},
	}
}

// serve runs the gateway until it is asked to end.
func serve(cmd *cobra.Command, cfg config.Config, log *slog.Logger) (err error) {
	gateway, err := app.New(cmd.Context(), cfg, log, now)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gateway.Close()) }()
	if err := printSetup(cmd.Context(), cfg, gateway.Accounts, nil, cmd.OutOrStdout(), false); err != nil {
		return err
	}
	releaseMemory()
	return gateway.Run(cmd.Context())
}

// newLogger returns the logger of a gateway. It is the default one too, to which recovered panics are written.
func newLogger(w io.Writer, cfg config.Config) *slog.Logger {
	var handler slog.Handler = slog.NewTextHandler(w, &slog.HandlerOptions{Level: cfg.LogLevel})
	if cfg.LogFormat == config.LogJSON {
		handler = slog.NewJSONHandler(w, &slog.HandlerOptions{Level: cfg.LogLevel, ReplaceAttr: durationsInWords})
	}
	log := slog.New(handler)
	slog.SetDefault(log)
	return log
}

// durationsInWords writes a duration as in the text form, and not in nanoseconds.
func durationsInWords(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}
