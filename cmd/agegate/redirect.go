package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"agegate/cmd/internal/terminal"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
)

func (c *cli) redirectCommand() *cobra.Command {
	return terminal.Group("redirect", "Replace a tenant's redirect secret without a gap",
		"Replace a tenant's redirect secret without a gap: stage a new one, let the merchant\n"+
			"accept tokens under both, then promote it. From then on it signs.",
		c.redirectStage(), c.redirectPromote())
}

// modeCommand is a command on one tenant and mode.
func (c *cli) modeCommand(
	use, short string, fn func(cmd *cobra.Command, op operator, tenantID uuid.UUID, livemode bool) error,
) *cobra.Command {
	var mode string
	cmd := &cobra.Command{Use: use + " TENANT_ID --mode test|live", Short: short, Args: exactlyOne("TENANT_ID")}
	cmd.Flags().StringVar(&mode, "mode", "", "test or live")
	_ = cmd.MarkFlagRequired("mode")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if mode != "test" && mode != "live" {
			return errors.New("--mode must be test or live")
		}
		return c.withTenant(cmd.Context(), args,
			func(op operator, t tenant.Tenant) error { return fn(cmd, op, t.ID, mode == "live") })
	}
	return cmd
}

// secretCommand is a modeCommand that creates a secret, and prints it under its name and with a note.
func (c *cli) secretCommand(
	use, short, name string,
	create func(ctx context.Context, op operator, id uuid.UUID, livemode bool) (secret, note string, err error),
) *cobra.Command {
	var out *terminal.Output
	cmd := c.modeCommand(use, short, func(cmd *cobra.Command, op operator, id uuid.UUID, livemode bool) error {
		op.warnOfKey(cmd)
		secret, note, err := create(cmd.Context(), op, id, livemode)
		if err != nil {
			return err
		}
		return out.Print(map[string]string{name: secret}, func(w io.Writer) {
			fmt.Fprintf(w, "%s\nKeep it now: it is not shown again. %s\n", secret, note)
		})
	})
	out = terminal.OutputFlag(cmd, terminal.OneObject)
	return cmd
}

func (c *cli) redirectStage() *cobra.Command {
	return c.secretCommand("stage", "Create the next redirect secret, shown only once", "redirect_secret",
		func(ctx context.Context, op operator, id uuid.UUID, livemode bool) (secret, note string, err error) {
			secret, err = op.tenants.StageRedirectSecret(ctx, op.actor, id, livemode)
			return secret, "It signs after agegate redirect promote.", err
		})
}

func (c *cli) redirectPromote() *cobra.Command {
	return c.modeCommand("promote", "Start signing with the staged redirect secret",
		func(cmd *cobra.Command, op operator, id uuid.UUID, livemode bool) error {
			err := op.tenants.PromoteRedirectSecret(cmd.Context(), op.actor, id, livemode)
			return confirm(cmd, missing("staged redirect secret", err),
				"The staged redirect secret signs now; the one before is retired.\n")
		})
}
