package main

import (
	"context"
	"fmt"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/session"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
)

func (c *cli) sessionExpire() *cobra.Command {
	return c.clockCommand("expire", "Let an open test session expire now",
		`Let an open test session expire now. Only its expiry moves: the next status lookup
writes EXPIRED, as it does for every session. Live sessions are refused.`,
		"Session %s has expired.\n", (*session.TestClock).Expire)
}

func (c *cli) sessionExpireRedirect() *cobra.Command {
	return c.clockCommand("expire-redirect", "Make a test session's next redirect with an expired token",
		`Make a test session's next redirect with a token that expired a minute ago, to see
that the shop refuses it. Later redirects are good again. Live sessions are refused.`,
		"The next redirect of session %s will have expired.\n", (*session.TestClock).ExpireNextRedirect)
}

// clockCommand returns a command that moves the test clock of a session.
func (c *cli) clockCommand(
	use, short, long, done string,
	turn func(*session.TestClock, context.Context, audit.Actor, webhook.Scope, uuid.UUID) error,
) *cobra.Command {
	return idCommand(use+" SESSION_ID", short, long, func(cmd *cobra.Command, id uuid.UUID) error {
		return c.withOperator(cmd.Context(), func(op operator) error {
			if err := turn(session.NewTestClock(op.store, now), cmd.Context(), op.actor, webhook.OfAll(), id); err != nil {
				return missing("session", err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), done, id)
			return nil
		})
	})
}

func (c *cli) webhookRetry() *cobra.Command {
	cmd := &cobra.Command{
		Use: "retry EVENT_ID", Short: "Make the next attempt of a test webhook now", Args: exactlyOneID("EVENT_ID"),
		Long: `Make the next attempt of a pending test webhook now, not when its time comes. It
counts as the next one of the schedule. Live webhooks are refused: agegate webhook
resend restarts the schedule of those.`,
	}
	scope := tenantFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.withWebhooks(cmd.Context(), scope, func(ops *webhook.Operations, actor audit.Actor, of webhook.Scope) error {
			if err := ops.RetryEvent(cmd.Context(), actor, of, args[0]); err != nil {
				return missing("event", err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "The next attempt of %s is due now.\n", args[0])
			return nil
		})
	}
	return cmd
}
