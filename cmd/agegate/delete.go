package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"agegate/cmd/internal/terminal"
	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
)

func (c *cli) sessionCommand() *cobra.Command {
	cmd := idCommand("delete SESSION_ID", "Delete a session and everything about it except its ledger entries",
		`Delete a session with its estimate, consent, handover, idempotency key, webhook
and attempts. Its ledger entries are kept; the session ID in them then refers to
nothing. Refused while the session is open or its webhook is still to be delivered.`,
		func(cmd *cobra.Command, id uuid.UUID) error {
			return c.withOperator(cmd.Context(), func(op operator) error {
				err := session.NewRecords(op.store, now).DeleteAsOperator(cmd.Context(), op.actor, id)
				return confirm(cmd, missing("session", err), "Session %s is deleted.\n", id)
			})
		})
	return terminal.Group("session", "Delete a session's record", "", cmd)
}

func (c *cli) pruneCommand() *cobra.Command {
	var before, only string
	cmd := &cobra.Command{
		Use:   "prune --before DATE",
		Short: "Delete the sessions created before a date",
		Long: "Delete the sessions that were created before a date, as agegate session delete\n" +
			"does. Gateways may keep running. Sessions that are open or whose webhook is still\n" +
			"to be delivered are kept and counted. A run can be stopped at any time; the next one\ncontinues with what is left.",
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&before, "before", "", "a date such as 2026-01-31 (its midnight, UTC) or an RFC 3339 time")
	cmd.Flags().StringVar(&only, "tenant", "", "only this tenant's sessions")
	_ = cmd.MarkFlagRequired("before")
	return terminal.Printing(cmd, terminal.OneObject, func(_ []string, out *terminal.Output) error {
		limit, err := parseDate(before)
		if err != nil {
			return err
		}
		return c.withOperator(cmd.Context(), func(op operator) error {
			tenants, err := op.chosen(cmd, only)
			if err != nil {
				return err
			}
			total, err := op.prune(cmd, tenants, limit)
			if err != nil {
				return fmt.Errorf("stopped after %s: %w", counted(total), err)
			}
			return out.Print(total, func(w io.Writer) {
				fmt.Fprintf(w, "%s.\n", counted(total))
			})
		})
	})
}

// parseDate parses a date or time, which must not be in the future.
func parseDate(s string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, s); err == nil {
			if at.After(now()) {
				return at, errors.New("--before must not be in the future")
			}
			return at, nil
		}
	}
	return time.Time{}, errors.New("--before must be a date such as 2026-01-31 or an RFC 3339 time")
}

// chosen returns one tenant, or all of them for an empty ID.
func (op operator) chosen(cmd *cobra.Command, id string) ([]tenant.Tenant, error) {
	if id == "" {
		var all []tenant.Tenant
		for page, err := range op.tenants.All(cmd.Context()) {
			if err != nil {
				return nil, err
			}
			all = append(all, page...)
		}
		return all, nil
	}
	parsed, err := idOf("--tenant", id, tenantsListed)
	if err != nil {
		return nil, err
	}
	t, err := op.tenants.Tenant(cmd.Context(), parsed)
	return []tenant.Tenant{t}, missing("tenant", err)
}

// prune deletes the tenants' sessions and returns the totals.
func (op operator) prune(
	cmd *cobra.Command, tenants []tenant.Tenant, before time.Time,
) (total session.Pruned, err error) {
	records, show := session.NewRecords(op.store, now), pruneProgress(cmd.ErrOrStderr())
	for _, t := range tenants {
		sum := total
		_, err := records.Prune(cmd.Context(), op.actor, t.ID, before, func(p session.Pruned) {
			total = session.Pruned{Deleted: sum.Deleted + p.Deleted, Open: sum.Open + p.Open,
				Undelivered: sum.Undelivered + p.Undelivered}
			show(total)
		})
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// pruneProgress prints the totals so far, at most every two seconds.
func pruneProgress(w io.Writer) func(session.Pruned) {
	last := time.Now()
	return func(p session.Pruned) {
		if time.Since(last) < 2*time.Second {
			return
		}
		last = time.Now()
		fmt.Fprintf(w, "%s so far\n", counted(p))
	}
}

func counted(p session.Pruned) string {
	return fmt.Sprintf("sessions deleted: %d; kept: %d open, %d with a webhook still to be delivered", p.Deleted, p.Open,
		p.Undelivered)
}

func (c *cli) tenantDelete() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete TENANT_ID --yes",
		Short: "Delete a disabled tenant and everything that belongs to it",
		Long: `Delete a disabled tenant permanently: its keys, secrets, sessions, webhooks, credit
and ledger. Its audit log is kept. Refused while a session is open or a webhook is
still to be delivered. A run that was stopped can be repeated. It names what the
tenant used in the current month of UTC, which no later invoice can count.`,
		Args: exactlyOne("TENANT_ID"),
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "confirm the deletion")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.withTenant(cmd.Context(), args, func(op operator, t tenant.Tenant) error {
			records := session.NewRecords(op.store, now)
			if err := records.CheckFinished(cmd.Context(), t); err != nil {
				return err
			}
			months, err := insight.NewService(op.store, billing.Limits{}, now).Months(cmd.Context(), t.ID, 1)
			if err != nil {
				return err
			}
			if m := months[0]; m.FreeUsed+m.CreditUsed+m.Added != 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "Of %s: free checks: %d, with credit: %d, units of credit added: %d; no later "+
					"file of each month's use has them.\n", m.Start.Format("2006-01"), m.FreeUsed, m.CreditUsed, m.Added)
			}
			if !yes {
				return fmt.Errorf("this deletes %q with its keys, secrets, sessions, webhooks, credit and ledger for good: give "+
					"--yes to confirm", t.Name)
			}
			if _, err := records.DeleteAll(cmd.Context(), op.actor, t, pruneProgress(cmd.ErrOrStderr())); err != nil {
				return err
			}
			return confirm(cmd, op.tenants.Delete(cmd.Context(), op.actor, t.ID), "Tenant %s is deleted.\n", t.ID)
		})
	}
	return cmd
}
