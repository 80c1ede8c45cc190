package main

import (
	"errors"
	"fmt"
	"strings"

	"agegate/internal/app/config"
	"agegate/internal/store"

	"github.com/spf13/cobra"
)

const databaseCopyHelp = `Copy all of the configured database, SQLite or PostgreSQL, into an empty PostgreSQL
database, except which gateways run on it and when it was backed up. Stop every gateway
first: the command refuses if one runs on either side, and no other command can write
meanwhile. A gateway that was killed is not told from one that runs for 90 seconds, so
the command then waits so long.

The target gets the tables first if it has none; otherwise they must be of the same
schema and without rows. Each table is compared on both sides. If anything fails, the
target stays without rows, and the command can be repeated.

Secrets are copied as they are sealed: the gateway needs the same AGEGATE_SECRET_KEY
with the new database. --to names the server itself, not a pooler, and must not have a
password, which other users of this machine could see: set PGPASSWORD or use a
password file.`

func (c *cli) databaseBackedUp() *cobra.Command {
	return &cobra.Command{
		Use: "backed-up", Short: "Record that a backup of the database was made just now", Args: cobra.NoArgs,
		Long: `Record that a backup of the configured database was made just now. A dump and a copy of
the file leave no trace, so let the job that makes one end with this command. agegate
doctor and the alert AgegateBackupOld then say when no backup was made for 30 hours.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withDatabase(cmd.Context(), func(db *store.Store, _ config.Config) error {
				return db.RecordBackup(cmd.Context(), now())
			})
		},
	}
}

func (c *cli) databaseCopy() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use: "copy --to URL", Short: "Copy the whole database into an empty PostgreSQL database",
		Long: databaseCopyHelp, Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&to, "to", "", "the new database, postgres://…, without a password")
	_ = cmd.MarkFlagRequired("to")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case !strings.HasPrefix(to, "postgres://") && !strings.HasPrefix(to, "postgresql://"):
			return errors.New("--to must name a PostgreSQL database: postgres://…")
		case config.HasPassword(to):
			return errors.New("--to must not have a password, which other users could see: set PGPASSWORD instead")
		}
		cfg, err := c.loadExisting()
		if err != nil {
			return err
		}
		from, err := store.Open(cmd.Context(), store.Config{URL: cfg.DatabaseURL, Now: now})
		if err != nil {
			return fmt.Errorf("AGEGATE_DATABASE_URL: %w", err)
		}
		defer from.Close()
		into, err := store.Open(cmd.Context(), store.Config{URL: to, Now: now})
		if err != nil {
			return fmt.Errorf("--to: %w", err)
		}
		defer into.Close()
		err = from.Copy(cmd.Context(), into, store.CopyWatch, func(table string, rows int64) {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: rows: %d\n", table, rows)
		})
		return confirm(cmd, err, "The databases are equal. Set AGEGATE_DATABASE_URL to the new one.\n")
	}
	return cmd
}
