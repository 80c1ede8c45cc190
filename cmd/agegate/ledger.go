package main

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"agegate/cmd/internal/terminal"
	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/routine"
	"agegate/internal/rules/tenant"

	"github.com/spf13/cobra"
)

func (c *cli) ledgerCommand() *cobra.Command {
	var path, before, only string
	cmd := &cobra.Command{
		Use:   "archive --to FILE",
		Short: "Move old months' lines of sessions from the ledger to a file",
		Long: `Write the ledger's lines of sessions to a file, as compressed JSON lines, and then replace
them in the ledger by a sum for each tenant, month and kind. No balance changes; top-ups
and each month's use stay. So do the lines of the last two whole months. Gateways may keep
running. A run can be stopped at any time: the next one, given the same file, continues
with what is left. No file is overwritten.`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&path, "to", "", "file to write, such as ledger-2026-01.jsonl.gz")
	cmd.Flags().StringVar(&before, "before", "", "only the months before this one, such as 2026-01")
	cmd.Flags().StringVar(&only, "tenant", "", "only this tenant's lines")
	_ = cmd.MarkFlagRequired("to")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		end := time.Date(now().Year(), now().Month()-2, 1, 0, 0, 0, 0, time.UTC)
		if before != "" {
			month, err := time.Parse("2006-01", before)
			if err != nil || month.After(end) {
				return fmt.Errorf("--before must be a month such as 2026-01, %s at the latest", end.Format("2006-01"))
			}
			end = month
		}
		return c.withOperator(cmd.Context(), func(op operator) error {
			tenants, err := op.chosen(cmd, only)
			if err != nil {
				return err
			}
			n, err := op.archiveLedger(cmd, path, tenants, end)
			return confirm(cmd, err, "Lines archived: %d.\n", n)
		})
	}
	return terminal.Group("ledger", "Archive old months of the ledger", "", cmd)
}

// archiveLedger writes the tenants' lines of before end to a file, unless it exists, and
// replaces the lines that the file has.
func (op operator) archiveLedger(cmd *cobra.Command, path string, tenants []tenant.Tenant, end time.Time) (int, error) {
	ctx := cmd.Context()
	each := func(do func(billing.Entry) error) (err error) {
		for _, t := range tenants {
			if err == nil {
				err = billing.OldEntries(ctx, op.store, t.ID, end, do)
			}
		}
		return err
	}
	// A month's use is read from the sums of its days, which must be complete before its lines go.
	err := insight.NewService(op.store, billing.Limits{}, now).Fold(ctx,
		func(since time.Time) { _ = routine.Rest(ctx, since) })
	if _, missing := os.Stat(path); err == nil && errors.Is(missing, fs.ErrNotExist) {
		err = writeWhole(path, os.Link, func(w io.Writer) error {
			zipped := gzip.NewWriter(w)
			lines := json.NewEncoder(zipped)
			return errors.Join(each(func(e billing.Entry) error { return lines.Encode(e) }), zipped.Close())
		})
	}
	if err != nil {
		return 0, err
	}
	file, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return 0, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	lines, err := gzip.NewReader(file)
	if err != nil {
		return 0, err
	}
	n, err := billing.SumUp(ctx, op.store, lines, audit.Act{
		Scope: audit.Instance, At: now(), Actor: op.actor, Action: audit.LedgerArchive,
		Detail: audit.Detail{Params: map[string]string{"before": end.Format("2006-01")}},
	})
	if err != nil {
		return n, err
	}
	return n, each(func(billing.Entry) error {
		return errors.New("the ledger has lines that the file lacks: run the command again with another file")
	})
}
