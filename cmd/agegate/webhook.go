package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"agegate/cmd/internal/terminal"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
)

func (c *cli) webhookCommand() *cobra.Command {
	return terminal.Group("webhook", "Inspect and repair webhook deliveries",
		`Inspect and repair webhook deliveries. Deliveries and their attempts are kept for
30 days. The running gateway sends what becomes due within about a second.`,
		c.webhookList(), c.webhookShow(), c.webhookResend(), c.webhookRotate(), c.webhookEndpoints(), c.webhookEnable(),
		movedCommand("verify", "webhook verify", "agegate-dev verify webhook"))
}

// withWebhooks runs fn with the deliveries and the scope from tenantFlag. A
// running gateway finds deliveries that fn makes due by polling.
func (c *cli) withWebhooks(
	ctx context.Context, scope func() (webhook.Scope, error),
	fn func(*webhook.Operations, audit.Actor, webhook.Scope) error,
) error {
	of, err := scope()
	if err != nil {
		return err
	}
	return c.withOperator(ctx, func(op operator) error {
		if id, all := of.Tenant(); !all {
			if _, err := op.tenants.Tenant(ctx, id); err != nil {
				return missing("tenant", err)
			}
		}
		return fn(webhook.NewOperations(op.store, now, nil), op.actor, of)
	})
}

// listedEvent is a delivery as webhook list and show print it. The
// destination's path may hold a secret of the merchant and is left out.
type listedEvent struct {
	EventID    string     `json:"event_id"`
	TenantID   uuid.UUID  `json:"tenant_id"`
	SessionID  uuid.UUID  `json:"session_id"`
	Livemode   bool       `json:"livemode"`
	EndpointID string     `json:"endpoint_id"`
	Status     string     `json:"status"`
	CreatedAt  time.Time  `json:"created_at"`
	Attempts   int        `json:"attempts"`
	NextAt     *time.Time `json:"next_attempt_at"`
	LastAt     *time.Time `json:"last_attempt_at"`
	LastClass  string     `json:"last_class"`
	LastStatus int        `json:"last_status_code"`
}

func fromRecord(r webhook.Record) listedEvent {
	return listedEvent{
		r.ID, r.TenantID, r.SessionID, r.Livemode, r.EndpointID, string(r.Status), r.CreatedAt,
		r.Attempts, r.NextAttemptAt, r.LastAt, string(r.LastClass), r.LastStatus,
	}
}

// tenantFlag adds --tenant and returns the scope it sets.
func tenantFlag(cmd *cobra.Command) func() (webhook.Scope, error) {
	var id string
	cmd.Flags().StringVar(&id, "tenant", "", "only this tenant's deliveries")
	return func() (webhook.Scope, error) {
		if id == "" {
			return webhook.OfAll(), nil
		}
		parsed, err := idOf("--tenant", id, tenantsListed)
		return webhook.OfTenant(parsed), err
	}
}

var statuses = []webhook.Status{
	webhook.StatusPending, webhook.StatusDelivered, webhook.StatusFailed, webhook.StatusWaiting,
	webhook.StatusNoDestination,
}

const statusNames = "pending, delivered, failed, waiting or no_destination"

func (c *cli) webhookList() *cobra.Command {
	var status, before string
	var limit int
	cmd := &cobra.Command{Use: "list", Short: "List deliveries, newest first", Args: cobra.NoArgs}
	scope := tenantFlag(cmd)
	cmd.Flags().StringVar(&status, "status", "", statusNames)
	cmd.Flags().StringVar(&before, "before", "", "only events created before this one (an event ID), for the next page")
	cmd.Flags().IntVar(&limit, "limit", webhook.MaxPage, "how many, 1 to 100")
	return terminal.Printing(cmd, terminal.OneArray, func(_ []string, out *terminal.Output) error {
		if limit < 1 || limit > webhook.MaxPage {
			return fmt.Errorf("--limit must be from 1 to %d", webhook.MaxPage)
		}
		if status != "" && !slices.Contains(statuses, webhook.Status(status)) {
			return errors.New("--status must be " + statusNames)
		}
		return c.withWebhooks(cmd.Context(), scope, func(ops *webhook.Operations, _ audit.Actor, of webhook.Scope) error {
			return terminal.PrintList(out, fromRecord, "EVENT\tSESSION\tSTATUS\tATTEMPTS\tLAST\tNEXT",
				func(e listedEvent) []any {
					return []any{e.EventID, e.SessionID, e.Status, e.Attempts, answerOf(e.LastClass, e.LastStatus), orNever(e.NextAt)}
				})(ops.Events(cmd.Context(),
				webhook.Filter{Scope: of, Status: webhook.Status(status), Before: before, Limit: limit}))
		})
	})
}

// answerOf formats an attempt's class and HTTP status.
func answerOf(class string, status int) string {
	if status == 0 {
		return class
	}
	return fmt.Sprintf("%s %d", class, status)
}

// listedAttempt is one attempt as webhook show prints it.
type listedAttempt struct {
	Number     int        `json:"number"`
	At         time.Time  `json:"at"`
	Class      string     `json:"class"`
	StatusCode int        `json:"status_code"`
	LatencyMS  int64      `json:"latency_ms"`
	Answer     string     `json:"answer"` // the first 1 KiB
	NextAt     *time.Time `json:"next_attempt_at"`
}

func (c *cli) webhookShow() *cobra.Command {
	cmd := &cobra.Command{Use: "show EVENT_ID", Short: "Show a delivery with its attempts", Args: exactlyOne("EVENT_ID")}
	scope := tenantFlag(cmd)
	return terminal.Printing(cmd, terminal.OneObject, func(args []string, out *terminal.Output) error {
		return c.withWebhooks(cmd.Context(), scope, func(ops *webhook.Operations, _ audit.Actor, of webhook.Scope) error {
			record, attempts, err := ops.EventByID(cmd.Context(), of, args[0])
			if err != nil {
				return missing("event", err)
			}
			listed := []listedAttempt{}
			for _, a := range attempts {
				listed = append(listed, listedAttempt{
					a.Number, a.At, string(a.Class), a.StatusCode, a.Latency.Milliseconds(), string(a.Excerpt), a.NextAt,
				})
			}
			event := fromRecord(record)
			return out.Print(struct {
				listedEvent
				Body string          `json:"body"`
				List []listedAttempt `json:"attempt_list"`
			}{event, string(record.Body), listed}, func(w io.Writer) {
				fmt.Fprintf(w, "Event\t%s\nSession\t%s\nTenant\t%s\nEndpoint\t%s\nStatus\t%s\nBody\t%s\n\n",
					event.EventID, event.SessionID, event.TenantID, event.EndpointID, event.Status,
					tenant.Visible(string(record.Body)))
				fmt.Fprintln(w, "ATTEMPT\tAT\tRESULT\tLATENCY\tNEXT\tANSWER")
				for _, a := range listed {
					answer := tenant.Visible(fmt.Sprintf("%.60q", a.Answer))
					fmt.Fprintf(w, "%d\t%s\t%s\t%d ms\t%s\t%s\n", a.Number, a.At.Format(time.DateTime),
						answerOf(a.Class, a.StatusCode), a.LatencyMS, orNever(a.NextAt), answer)
				}
			})
		})
	})
}

func (c *cli) webhookResend() *cobra.Command {
	var since string
	cmd := &cobra.Command{
		Use: "resend [EVENT_ID]", Short: "Send one event again, or all failed since a time",
		Long: `Send an event again with the same webhook-id and body. With --failed-since, resend
all failed events created since a time or within a duration.`,
		Args: cobra.MaximumNArgs(1),
	}
	scope := tenantFlag(cmd)
	cmd.Flags().StringVar(&since, "failed-since", "", "RFC 3339 time, or a duration such as 24h")
	return terminal.Printing(cmd, terminal.OneObject, func(args []string, out *terminal.Output) error {
		if (len(args) == 1) == (since != "") {
			return errors.New("give either an EVENT_ID or --failed-since")
		}
		return c.withWebhooks(cmd.Context(), scope, func(ops *webhook.Operations, actor audit.Actor, of webhook.Scope) error {
			n := 1
			var err error
			if len(args) == 1 {
				err = ops.ResendEvent(cmd.Context(), actor, of, args[0])
			} else {
				var from time.Time
				if from, err = parseSince(since); err == nil {
					n, err = ops.ResendFailedEvents(cmd.Context(), actor, of, from)
				}
			}
			if err != nil {
				return missing("event", err)
			}
			return printCount(out, "resent", n, "Events that are due again")
		})
	})
}

func parseSince(s string) (time.Time, error) {
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now().Add(-d), nil
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("--failed-since must be an RFC 3339 time or a duration such as 24h")
	}
	return at.UTC(), nil
}

// printCount prints a number of things: in JSON as the member name, in text after what.
func printCount(out *terminal.Output, name string, n int, what string) error {
	return out.Print(map[string]int{name: n}, func(w io.Writer) { fmt.Fprintf(w, "%s: %d.\n", what, n) })
}
