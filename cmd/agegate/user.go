package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"

	"agegate/internal/account"
	"agegate/internal/config"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
)

func (c *cli) userCommand() *cobra.Command {
	return group("user", "Manage the users of the dashboard", "", c.userSetupLink())
}

func (c *cli) userSetupLink() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "setup-link",
		Short: "Print the link that makes the first operator",
		Long:  "Print a link to the page on which the first operator makes their account. It is\ngood for an hour, works once and replaces the link printed before. Once there is\nan operator, there is none.",
		Args:  cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.load()
		if err != nil {
			return err
		}
		if err := cfg.CheckDashboard(); err != nil {
			return err
		}
		db, err := openDatabase(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer db.Close()
		link, err := account.NewService(db, cfg.DashboardURL, rand.Reader, now).NewSetupLink(cmd.Context(), nil)
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), map[string]string{"setup_link": link})
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), link)
		return err
	}
	return cmd
}

// printSetup writes the setup link to a terminal while there is no operator.
// Elsewhere, where the output may be kept, it writes how to get one.
func printSetup(ctx context.Context, cfg config.Config, accounts *account.Service, owned *uuid.UUID, w io.Writer) error {
	if !cfg.Dashboard || cfg.CheckDashboard() != nil {
		return nil //nolint:nilerr // no dashboard is served, and the log says why
	}
	needed, err := accounts.NeedsSetup(ctx)
	if err != nil || !needed {
		return err
	}
	if !isTerminal(w) {
		_, err := fmt.Fprintln(w, "There is no operator yet. agegate user setup-link prints the link to set up the dashboard.")
		return err
	}
	link, err := accounts.NewSetupLink(ctx, owned)
	if errors.Is(err, account.ErrOperatorExists) {
		return nil // made meanwhile
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "Set up the dashboard (within an hour):  %s\n", link)
	return err
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
