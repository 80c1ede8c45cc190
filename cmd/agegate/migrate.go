package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func (c *cli) migrateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database schema up to date",
		Long: `Bring the database schema up to date. serve does the same when it starts; run
this if you migrate in a separate step. Where AGEGATE_DATABASE_URL leads to a
pooler, AGEGATE_MIGRATION_URL must name the server itself.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.load()
			if err != nil {
				return err
			}
			db, err := openDatabase(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			said := "The database schema is up to date."
			x, err := db.Examine(cmd.Context())
			if len(x.Unknown) > 0 {
				said = "A newer version of agegate has migrated the database."
			}
			return confirm(cmd, errors.Join(err, db.Close()), "%s\n", said)
		},
	}
}
