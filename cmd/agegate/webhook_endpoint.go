package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"agegate/cmd/internal/terminal"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
)

func (c *cli) webhookRotate() *cobra.Command {
	var overlap time.Duration
	cmd := c.secretCommand("rotate", "Create a new webhook secret, shown only once", "webhook_secret",
		func(ctx context.Context, op operator, id uuid.UUID, livemode bool) (secret, note string, err error) {
			secret, err = op.tenants.RotateWebhookSecret(ctx, op.actor, id, livemode, overlap)
			return secret, fmt.Sprintf("The old secret signs too for %s.", overlap), err
		})
	cmd.Flags().DurationVar(&overlap, "overlap", 24*time.Hour, "how long the old secret also signs: 0, 1h, 24h or 72h")
	return cmd
}

// listedEndpoint is an endpoint as webhook endpoints prints it.
type listedEndpoint struct {
	EndpointID     string     `json:"endpoint_id"`
	TenantID       uuid.UUID  `json:"tenant_id"`
	Livemode       bool       `json:"livemode"`
	FirstFailureAt *time.Time `json:"first_failure_at"`
	DisabledAt     *time.Time `json:"disabled_at"`
	DisabledReason string     `json:"disabled_reason"`
	LastClass      string     `json:"last_class"`
}

func (c *cli) webhookEndpoints() *cobra.Command {
	cmd := &cobra.Command{Use: "endpoints", Short: "List endpoints that are failing or disabled", Args: cobra.NoArgs}
	scope := tenantFlag(cmd)
	return terminal.Printing(cmd, terminal.OneArray, func(_ []string, out *terminal.Output) error {
		return c.withWebhooks(cmd.Context(), scope, func(ops *webhook.Operations, _ audit.Actor, of webhook.Scope) error {
			return terminal.PrintList(out, func(e webhook.Failing) listedEndpoint {
				return listedEndpoint{e.ID, e.TenantID, e.Livemode, e.FirstFailureAt, e.DisabledAt, string(e.DisabledReason),
					string(e.Class)}
			}, "ENDPOINT\tTENANT\tLIVE\tFAILING SINCE\tDISABLED\tREASON", func(e listedEndpoint) []any {
				return []any{e.EndpointID, e.TenantID, e.Livemode, orNever(e.FirstFailureAt), orNever(e.DisabledAt),
					strings.TrimSpace(e.DisabledReason + " " + e.LastClass)}
			})(ops.Endpoints(cmd.Context(), of))
		})
	})
}

func (c *cli) webhookEnable() *cobra.Command {
	cmd := &cobra.Command{
		Use: "enable ENDPOINT_ID", Short: "Enable a disabled endpoint and send what waits for it",
		Args: exactlyOne("ENDPOINT_ID"),
	}
	scope := tenantFlag(cmd)
	return terminal.Printing(cmd, terminal.OneObject, func(args []string, out *terminal.Output) error {
		return c.withWebhooks(cmd.Context(), scope, func(ops *webhook.Operations, actor audit.Actor, of webhook.Scope) error {
			n, err := ops.EnableEndpoint(cmd.Context(), actor, of, args[0])
			if err != nil {
				return err
			}
			return printCount(out, "due", n, "Waiting events that are due")
		})
	})
}
