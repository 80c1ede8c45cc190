package main

import (
	"fmt"

	"agegate/internal/store"

	"github.com/spf13/cobra"
)

func (c *cli) migrateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database schema up to date",
		Long:  "Bring the database schema up to date. serve does the same when it starts; run\nthis where migrations are a step of their own.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.load()
			if err != nil {
				return err
			}
			db, err := store.Open(cmd.Context(), store.Config{URL: cfg.DatabaseURL})
			if err != nil {
				return err
			}
			defer db.Close()
			if err := db.Migrate(cmd.Context()); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "The database schema is up to date.")
			return nil
		},
	}
}
