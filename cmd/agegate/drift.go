package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"agegate/internal/app/config"
	"agegate/internal/backoffice/drift"
	"agegate/internal/check/age"
	"agegate/internal/check/inference"
	"agegate/internal/store"

	"github.com/spf13/cobra"
)

const driftHelp = `Show what the governor of drift knows: whether it has raised the margin, and how far
the estimates of each family of browsers are from the reference. AGEGATE_DRIFT_STEP turns
it on.

It compares windows of at least 500 estimates and 15 minutes with the reference, by the
population stability index: from 0.1, twice in a row, it warns; from 0.25, twice in a row,
it raises the margin by the step. Only people lower it again.`

func (c *cli) driftCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "drift", Short: "Show and steer the governor of drift", Long: driftHelp, Args: cobra.NoArgs}
	out := outputFlag(cmd, oneObject)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.withDrift(cmd.Context(), func(governor *drift.Service, _ config.Config) error {
			if err := governor.Refresh(cmd.Context()); err != nil {
				return err
			}
			state := governor.Known()
			return out.print(state, func(w io.Writer) { printDrift(w, state) })
		})
	}
	cmd.AddCommand(c.driftFreeze(), c.driftLower())
	return cmd
}

// withDrift runs fn with the governor on the configured database.
func (c *cli) withDrift(ctx context.Context, fn func(*drift.Service, config.Config) error) error {
	return c.withDatabase(ctx, func(db *store.Store, cfg config.Config) error {
		// Without models there is nothing to freeze, but still a state to show.
		estimator := ""
		if manifest, err := inference.ReadManifest(cfg.ModelsDir); err == nil {
			estimator = age.Estimator(manifest)
		}
		return fn(drift.NewService(db, drift.Config{Margin: cfg.AgeMargin, Step: cfg.DriftStep, Estimator: estimator,
			Now: now}), cfg)
	})
}

func printDrift(w io.Writer, state drift.State) {
	if state.Raised > 0 {
		fmt.Fprintf(w, "The margin is raised by %v years since %s, because of %s.\nLook for the cause, then end it: agegate drift lower\n\n",
			state.Raised, state.RaisedAt.Format(time.RFC3339), state.RaisedBy)
	} else {
		fmt.Fprint(w, "The margin is not raised.\n")
	}
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
			"for good. A raised margin stays raised.",
	}
	cmd.Flags().IntVar(&days, "days", days, "how many days, 1 to 35")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if days < 1 || days > int(drift.Kept.Hours()/24) {
			return fmt.Errorf("--days must be 1 to %d", int(drift.Kept.Hours()/24))
		}
		return c.withDrift(cmd.Context(), func(governor *drift.Service, cfg config.Config) error {
			if _, err := inference.ReadManifest(cfg.ModelsDir); err != nil {
				return fmt.Errorf("AGEGATE_MODELS_DIR must be that of the gateway, since the reference belongs to its models: %w",
					err)
			}
			state, err := governor.Freeze(cmd.Context(), commandLine(), time.Duration(days)*24*time.Hour)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "The reference is frozen, of %d estimates.\n", state.Families[drift.All].Ages.Known())
			return nil
		})
	}
	return cmd
}

func (c *cli) driftLower() *cobra.Command {
	return &cobra.Command{
		Use: "lower", Short: "End a raise of the margin", Args: cobra.NoArgs,
		Long: "End a raise of the margin. All replicas follow within some seconds. If the estimates are\n" +
			"still shifted, the governor raises it again after two more windows: freeze a reference\n" +
			"first if the change is one that you accept.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withDrift(cmd.Context(), func(governor *drift.Service, _ config.Config) error {
				if err := governor.Lower(cmd.Context(), commandLine()); err != nil {
					return err
				}
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "The margin is as configured again.")
				return err
			})
		},
	}
}
