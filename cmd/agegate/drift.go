package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"agegate/cmd/internal/terminal"
	"agegate/internal/app/config"
	"agegate/internal/backoffice/drift"
	"agegate/internal/check/age"
	"agegate/internal/check/inference"
	"agegate/internal/store"

	"github.com/spf13/cobra"
)

const driftHelp = `Show how far the estimates of each family of browsers are from the reference.

It compares windows of at least 500 estimates and 15 minutes with the reference, by the
population stability index. From 0.1, twice in a row, the gateway logs a warning; from
0.25 an error, and an alert fires. It changes nothing by itself.`

func (c *cli) driftCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "drift", Short: "Show whether estimates have shifted", Long: driftHelp, Args: cobra.NoArgs}
	out := terminal.OutputFlag(cmd, terminal.OneObject)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.withDrift(cmd.Context(), func(watch *drift.Service, _ config.Config) error {
			if err := watch.Refresh(cmd.Context()); err != nil {
				return err
			}
			state := watch.Known()
			return out.Print(state, func(w io.Writer) { printDrift(w, state) })
		})
	}
	cmd.AddCommand(c.driftFreeze())
	return cmd
}

// withDrift runs fn with the counts on the configured database.
func (c *cli) withDrift(ctx context.Context, fn func(*drift.Service, config.Config) error) error {
	return c.withDatabase(ctx, func(db *store.Store, cfg config.Config) error {
		// Without models no reference can be frozen, but the state can be shown.
		estimator := ""
		if manifest, err := inference.ReadManifest(cfg.ModelsDir); err == nil {
			estimator = age.Estimator(manifest)
		}
		return fn(drift.NewService(db, drift.Config{Estimator: estimator, Now: now}), cfg)
	})
}

func printDrift(w io.Writer, state drift.State) {
	if state.FrozenAt == nil {
		fmt.Fprint(w, "There is no reference: nothing is compared. Make one with agegate drift freeze\n")
		return
	}
	fmt.Fprintf(w, "Reference of %s, of the estimator %s.\n\nBROWSERS\tREFERENCE\tJUDGED\tESTIMATES\tINDEX\tOUTCOMES\n",
		state.FrozenAt.Format(time.RFC3339), state.Estimator)
	for _, family := range slices.Sorted(maps.Keys(state.Families)) {
		m, ends := state.Families[family].Ages, state.Families[family].Outcomes
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\t%s\n", family, m.Known(), timeOr(m.JudgedAt), m.Judged, indexOr(m), indexOr(ends))
	}
}

func timeOr(at *time.Time) string {
	if at == nil {
		return "not yet"
	}
	return at.Format(time.RFC3339)
}

func indexOr(m drift.Measure) string {
	switch {
	case m.JudgedAt == nil:
		return "-"
	case m.Warned():
		return drift.Index(m.Index) + " (shifted)"
	}
	return drift.Index(m.Index)
}

func (c *cli) driftFreeze() *cobra.Command {
	days := 28
	cmd := &cobra.Command{
		Use: "freeze", Short: "Make what was counted lately the reference", Args: cobra.NoArgs,
		Long: "Make the counts of the last days the reference that later ones are compared with. Take days\n" +
			"in which the check worked as it should. A family of browsers gets a reference from " +
			strconv.Itoa(drift.MinReference) + "\n" +
			"estimates on. Freeze again after an upgrade of the models, or when the audience has changed\n" +
			"for good.",
	}
	cmd.Flags().IntVar(&days, "days", days, "how many days, 1 to 35")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if days < 1 || days > int(drift.Kept.Hours()/24) {
			return fmt.Errorf("--days must be 1 to %d", int(drift.Kept.Hours()/24))
		}
		return c.withDrift(cmd.Context(), func(watch *drift.Service, cfg config.Config) error {
			if _, err := inference.ReadManifest(cfg.ModelsDir); err != nil {
				return fmt.Errorf("AGEGATE_MODELS_DIR must be that of the gateway, since the reference belongs to its models: %w",
					err)
			}
			state, err := watch.Freeze(cmd.Context(), commandLine(), time.Duration(days)*24*time.Hour)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "The reference is frozen, of %d estimates.\n", state.Families[drift.All].Ages.Known())
			return nil
		})
	}
	return cmd
}
