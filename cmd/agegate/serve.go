package main

import (
	"errors"
	"io"
	"log/slog"

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
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			defaults := map[string]string{}
			if isTerminal(cmd.ErrOrStderr()) {
				defaults[config.LameDuckName] = "0s"
			}
			cfg, err := c.loadOver(defaults, config.SecretKeyName)
			if err != nil {
				return err
			}
			gateway, err := app.New(cmd.Context(), cfg, newLogger(cmd.ErrOrStderr(), cfg.LogLevel), now)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, gateway.Close()) }()
			if err := printSetup(cmd.Context(), cfg, gateway.Accounts, nil, cmd.OutOrStdout()); err != nil {
				return err
			}
			releaseMemory()
			return gateway.Run(cmd.Context())
		},
	}
}

// newLogger returns the logger of a gateway. It is the default one too, to which
// recovered panics are written.
func newLogger(w io.Writer, level slog.Level) *slog.Logger {
	log := slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
	slog.SetDefault(log)
	return log
}
