package main

import (
	"fmt"
	"io"
	"time"

	"agegate/cmd/internal/terminal"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
)

func (c *cli) keyCreate() *cobra.Command {
	var name string
	var out *terminal.Output
	cmd := c.modeCommand("create", "Create another API key, shown only once",
		func(cmd *cobra.Command, op operator, id uuid.UUID, livemode bool) error {
			key, plain, err := op.tenants.CreateKey(cmd.Context(), op.actor, id, livemode, name)
			if err != nil {
				return err
			}
			return out.Print(struct {
				KeyID uuid.UUID `json:"key_id"`
				Key   string    `json:"key"`
			}{key.ID, plain}, func(w io.Writer) {
				fmt.Fprintf(w, "Key %s\n%s\nKeep it now: it is not shown again.\n", key.ID, plain)
			})
		})
	cmd.Flags().StringVar(&name, "name", "", "what the key is for")
	out = terminal.OutputFlag(cmd, terminal.OneObject)
	return cmd
}

func (c *cli) keyRevoke() *cobra.Command {
	const short = "Revoke an API key permanently"
	return idCommand("revoke KEY_ID", short, "", func(cmd *cobra.Command, id uuid.UUID) error {
		return c.withOperator(cmd.Context(), func(op operator) error {
			err := op.tenants.RevokeKeyAsOperator(cmd.Context(), op.actor, id)
			return confirm(cmd, missing("API key", err), "Key %s is revoked.\n", id)
		})
	})
}

// listedKey is one key as key list prints it: never the key itself.
type listedKey struct {
	KeyID      uuid.UUID  `json:"key_id"`
	Key        string     `json:"key"`
	Name       string     `json:"name"`
	CreatedAt  time.Time  `json:"created_at"`
	CreatedBy  *uuid.UUID `json:"created_by"` // a user
	LastUsedAt *time.Time `json:"last_used_at"`
	ExpiresAt  *time.Time `json:"expires_at"`
	RevokedAt  *time.Time `json:"revoked_at"`
}

func (c *cli) keyList() *cobra.Command {
	cmd := &cobra.Command{Use: "list TENANT_ID", Short: "List a tenant's API keys", Args: exactlyOne("TENANT_ID")}
	return terminal.Printing(cmd, terminal.OneArray, func(args []string, out *terminal.Output) error {
		return c.withTenant(cmd.Context(), args, func(op operator, t tenant.Tenant) error {
			return terminal.PrintList(out, func(k tenant.APIKey) listedKey {
				return listedKey{k.ID, k.Hint(), k.Name, k.CreatedAt, k.CreatedBy, k.LastUsedAt, k.ExpiresAt, k.RevokedAt}
			}, "ID\tKEY\tCREATED\tLAST USED\tENDS\tREVOKED\tNAME", func(k listedKey) []any {
				return []any{k.KeyID, k.Key, k.CreatedAt.Format(time.DateTime), orNever(k.LastUsedAt), orNever(k.ExpiresAt),
					orNever(k.RevokedAt), tenant.Visible(k.Name)}
			})(op.tenants.Keys(cmd.Context(), t.ID))
		})
	})
}

func orNever(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return t.Format(time.DateTime)
}
