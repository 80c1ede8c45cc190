package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"agegate/cmd/internal/terminal"
	"agegate/internal/app/config"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"

	"github.com/spf13/cobra"
)

func (c *cli) auditCommand() *cobra.Command {
	return terminal.Group("audit", "Show and verify the log of what staff and commands changed",
		"Show and verify the audit log. Every change of a tenant's settings, keys, secrets,\n"+
			"credit, webhooks and records that staff or a command makes has an entry; API calls\n"+
			"and shoppers have none. Each tenant has a log, which is kept when the tenant is\n"+
			"deleted, and so has the instance.",
		c.auditList(), c.auditExport(), c.auditVerify())
}

// logFlag adds --instance. The function it returns gives the scope named by the flag or by the argument.
func logFlag(cmd *cobra.Command) func(args []string) (audit.Scope, error) {
	instance := cmd.Flags().Bool("instance", false, "the log of the instance")
	return func(args []string) (audit.Scope, error) {
		switch {
		case (len(args) == 1) == *instance:
			return "", errors.New("give either --instance or a TENANT_ID: " + tenantsListed)
		case *instance:
			return audit.Instance, nil
		}
		id, err := idOf("the ID", args[0], tenantsListed)
		return audit.OfTenant(id), err
	}
}

func (c *cli) auditList() *cobra.Command {
	var action string
	var before int64
	var limit int
	cmd := &cobra.Command{
		Use: "list TENANT_ID|--instance", Short: "List a log, newest first", Args: cobra.MaximumNArgs(1),
		Long: "List the log of a tenant, also of a deleted one, or of the instance, newest first.\n" +
			"The instance's has what concerns no single tenant, and the deletion of tenants.",
	}
	scope := logFlag(cmd)
	cmd.Flags().StringVar(&action, "action", "", "only this action, such as "+string(audit.APIKeyCreate))
	cmd.Flags().Int64Var(&before, "before", 0, "only entries before this one (its number), for the next page")
	cmd.Flags().IntVar(&limit, "limit", audit.MaxPage, "how many, 1 to 100")
	return terminal.Printing(cmd, terminal.OneArray, func(args []string, out *terminal.Output) error {
		of, err := scope(args)
		switch {
		case err != nil:
			return err
		case action != "" && !slices.Contains(audit.Actions(), audit.Action(action)):
			return fmt.Errorf("--action must be one of %s", actionNames())
		case limit < 1 || limit > audit.MaxPage:
			return fmt.Errorf("--limit must be from 1 to %d", audit.MaxPage)
		case before < 0:
			return errors.New("--before must be the number of an entry")
		}
		return c.withDatabase(cmd.Context(), func(db *store.Store, _ config.Config) error {
			return terminal.PrintList(out, terminal.Itself[audit.Entry], "ENTRY\tAT\tACTOR\tACTION\tTARGET\tDETAIL",
				func(e audit.Entry) []any {
					return []any{e.Seq, e.At.Format(time.DateTime),
						tenant.Visible(strings.TrimSpace(string(e.Actor.Kind) + " " + cmp.Or(e.Actor.Name, e.Actor.ID))),
						e.Action, e.Target, tenant.Visible(detailText(e.Details()))}
				})(db.AuditEntries(cmd.Context(),
				audit.Filter{Scope: of, Action: audit.Action(action), Before: before, Limit: limit}))
		})
	})
}

func actionNames() string {
	var names []string
	for _, a := range audit.Actions() {
		names = append(names, string(a))
	}
	return strings.Join(names, ", ")
}

// detailText returns a detail on one line.
func detailText(d audit.Detail) string {
	var parts []string
	for name, value := range d.Params {
		parts = append(parts, name+"="+value)
	}
	slices.Sort(parts)
	for _, c := range d.Changes {
		text := fmt.Sprintf("%s: %q to %q", c.Setting, c.Old, c.New)
		if c.Old == c.New { // of URLs, which may hold secrets, host and port alone are kept
			text = fmt.Sprintf("%s: %q to another path", c.Setting, c.Old)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func (c *cli) auditExport() *cobra.Command {
	cmd := &cobra.Command{
		Use: "export TENANT_ID|--instance", Short: "Print a whole log as JSON lines, oldest first",
		Args: cobra.MaximumNArgs(1),
		Long: `Print a whole log as JSON lines, oldest first, for agegate audit verify FILE. The
command verifies the log at the same time, and fails if an entry was changed.`,
	}
	scope := logFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		of, err := scope(args)
		if err != nil {
			return err
		}
		return c.withDatabase(cmd.Context(), func(db *store.Store, _ config.Config) error {
			_, err := audit.Export(cmd.Context(), db, of, cmd.OutOrStdout())
			return err
		})
	}
	return cmd
}

// verifiedLog is the end of a log that verifies.
type verifiedLog struct {
	Scope   audit.Scope `json:"scope"`
	Entries int64       `json:"entries"`
	Hash    audit.Hash  `json:"hash"`
}

func (c *cli) auditVerify() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify [FILE]",
		Short: "Check that no entry of any log was changed or removed",
		Long: "Check the chain of hashes of all logs, or of one that agegate audit export printed,\n" +
			"and print each log's number of entries and last hash. Keep these elsewhere: only by\n" +
			"comparing them can you tell that the newest entries were removed together with the\n" +
			"end of the chain. The exit status is 1 when a log does not hold.",
		Args: cobra.MaximumNArgs(1),
	}
	return terminal.Printing(cmd, terminal.OneArray, func(args []string, out *terminal.Output) error {
		verified := []verifiedLog{}
		var broken error
		if len(args) == 1 {
			verified, broken = verifyFile(args[0])
		} else if err := c.withDatabase(cmd.Context(), func(db *store.Store, _ config.Config) (err error) {
			verified, broken, err = verifyAll(cmd.Context(), db)
			return err
		}); err != nil {
			return err
		}
		show := terminal.PrintList(out, terminal.Itself[verifiedLog], "LOG\tENTRIES\tLAST HASH",
			func(v verifiedLog) []any { return []any{tenant.Visible(string(v.Scope)), v.Entries, v.Hash} })
		return errors.Join(show(verified, nil), broken)
	})
}

// scopePage is how many scopes verifyAll reads at once.
const scopePage = 500

// verifyAll returns the logs that verify, and the errors for the others.
func verifyAll(ctx context.Context, db audit.Store) (verified []verifiedLog, broken, err error) {
	verified = []verifiedLog{}
	last := audit.Scope("")
	for {
		scopes, err := db.AuditScopes(ctx, last, scopePage)
		if err != nil || len(scopes) == 0 {
			return verified, broken, err
		}
		for _, scope := range scopes {
			end, err := audit.Verify(ctx, db, scope)
			if _, ok := errors.AsType[*audit.BrokenError](err); ok {
				broken = errors.Join(broken, err)
			} else if err != nil {
				return verified, broken, err
			} else {
				verified = append(verified, verifiedLog{scope, end.Seq, end.Hash})
			}
			last = scope
		}
	}
}

func verifyFile(path string) ([]verifiedLog, error) {
	file, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return []verifiedLog{}, fmt.Errorf("the file cannot be read: %w", errors.Unwrap(err))
	}
	defer file.Close() //nolint:errcheck // it was only read
	scope, end, err := audit.VerifyExport(file)
	if err != nil {
		return []verifiedLog{}, err
	}
	return []verifiedLog{{scope, end.Seq, end.Hash}}, nil
}
