package main

import (
	"fmt"
	"io"

	"agegate/cmd/internal/terminal"

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
		livemode, err := parseMode(mode)
		if err != nil {
			return err
		}
		return c.withTenant(cmd.Context(), args, func(op operator, id uuid.UUID) error { return fn(cmd, op, id, livemode) })
	}
	return cmd
}

func (c *cli) redirectStage() *cobra.Command {
	var out *terminal.Output
	cmd := c.modeCommand("stage", "Create the next redirect secret, shown only once",
		func(cmd *cobra.Command, op operator, id uuid.UUID, livemode bool) error {
			op.warnOfKey(cmd)
			secret, err := op.tenants.StageRedirectSecret(cmd.Context(), op.actor, id, livemode)
			if err != nil {
				return err
			}
			return out.Print(map[string]string{"redirect_secret": secret}, func(w io.Writer) {
				fmt.Fprintf(w, "%s\nKeep it now: it is not shown again. It signs after agegate redirect promote.\n", secret)
			})
		})
	out = terminal.OutputFlag(cmd, terminal.OneObject)
	return cmd
}

func (c *cli) redirectPromote() *cobra.Command {
	return c.modeCommand("promote", "Start signing with the staged redirect secret",
		func(cmd *cobra.Command, op operator, id uuid.UUID, livemode bool) error {
			err := op.tenants.PromoteRedirectSecret(cmd.Context(), op.actor, id, livemode)
			return confirm(cmd, missing("staged redirect secret", err),
				"The staged redirect secret signs now; the one before is retired.\n")
		})
}
