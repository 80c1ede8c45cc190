package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"os"
	"strings"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
)

func (c *cli) webhookRotate() *cobra.Command {
	var overlap time.Duration
	var out *output
	cmd := c.modeCommand("rotate", "Create a new webhook secret, shown only once",
		func(cmd *cobra.Command, op operator, id uuid.UUID, livemode bool) error {
			op.warnOfKey(cmd)
			secret, err := op.tenants.RotateWebhookSecret(cmd.Context(), op.actor, id, livemode, overlap)
			if err != nil {
				return err
			}
			return out.print(map[string]string{"webhook_secret": secret}, func(w io.Writer) {
				fmt.Fprintf(w, "%s\nKeep it now: it is not shown again. The old secret signs too for %s.\n", secret, overlap)
			})
		})
	cmd.Flags().DurationVar(&overlap, "overlap", 24*time.Hour, "how long the old secret also signs: 0, 1h, 24h or 72h")
	out = outputFlag(cmd, oneObject)
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
}

func fromEndpoint(e webhook.Endpoint) listedEndpoint {
	return listedEndpoint{e.ID, e.TenantID, e.Livemode, e.FirstFailureAt, e.DisabledAt, string(e.DisabledReason)}
}

func (c *cli) webhookEndpoints() *cobra.Command {
	cmd := &cobra.Command{Use: "endpoints", Short: "List endpoints that are failing or disabled", Args: cobra.NoArgs}
	scope := tenantFlag(cmd)
	out := outputFlag(cmd, oneArray)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.withWebhooks(cmd.Context(), scope, func(ops *webhook.Operations, _ audit.Actor, of webhook.Scope) error {
			endpoints, err := ops.Endpoints(cmd.Context(), of)
			if err != nil {
				return err
			}
			return printList(out, endpoints, fromEndpoint, "ENDPOINT\tTENANT\tLIVE\tFAILING SINCE\tDISABLED\tREASON",
				func(e listedEndpoint) []any {
					return []any{e.EndpointID, e.TenantID, e.Livemode, orNever(e.FirstFailureAt), orNever(e.DisabledAt),
						e.DisabledReason}
				})
		})
	}
	return cmd
}

func (c *cli) webhookEnable() *cobra.Command {
	cmd := &cobra.Command{
		Use: "enable ENDPOINT_ID", Short: "Enable a disabled endpoint and send what waits for it",
		Args: exactlyOneID("ENDPOINT_ID"),
	}
	scope := tenantFlag(cmd)
	out := outputFlag(cmd, oneObject)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.withWebhooks(cmd.Context(), scope, func(ops *webhook.Operations, actor audit.Actor, of webhook.Scope) error {
			n, err := ops.EnableEndpoint(cmd.Context(), actor, of, args[0])
			if err != nil {
				return err
			}
			return printCount(out, "due", n, "waiting events are due")
		})
	}
	return cmd
}

// maxDelivery is the maximum size of headers or body that webhook verify reads,
// in bytes.
const maxDelivery = 1 << 20

func webhookVerify() *cobra.Command {
	var headerFile, bodyFile string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check a received delivery, and explain why it does not verify",
		Long: "Verify a delivery as a receiver should. The secret is read from WEBHOOK_SECRET.\n" +
			"Without --body, standard input holds the headers, an empty line and the body.\n" +
			"The exit status is 1 when the delivery does not verify.",
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&headerFile, "headers", "", "file with one header a line")
	cmd.Flags().StringVar(&bodyFile, "body", "", "file with the raw body")
	out := outputFlag(cmd, oneObject)
	cmd.MarkFlagsRequiredTogether("headers", "body")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		secret := os.Getenv("WEBHOOK_SECRET")
		if !strings.HasPrefix(secret, credential.WebhookSecretPrefix) {
			return fmt.Errorf("WEBHOOK_SECRET must be set to the secret that begins with %s", credential.WebhookSecretPrefix)
		}
		key, err := credential.ParseSecret(secret)
		if err != nil {
			return fmt.Errorf("WEBHOOK_SECRET: %w", err)
		}
		header, body, err := readDelivery(cmd.InOrStdin(), headerFile, bodyFile)
		if err != nil {
			return err
		}
		report := webhook.Verify(key, header, body, now())
		if err := out.print(report, func(w io.Writer) { writeReceiverReport(w, report) }); err != nil {
			return err
		}
		if !report.Valid {
			return errors.New("the delivery does not verify")
		}
		return nil
	}
	return cmd
}

// readDelivery reads the headers and the raw body from files, or both from
// one stream.
func readDelivery(stdin io.Reader, headerFile, bodyFile string) (http.Header, []byte, error) {
	var raw []byte
	var err error
	if headerFile != "" {
		raw, err = os.ReadFile(headerFile) //nolint:gosec // the operator names the file
		raw = append(bytes.TrimRight(raw, "\r\n"), "\r\n\r\n"...)
	} else {
		raw, err = io.ReadAll(io.LimitReader(stdin, maxDelivery))
	}
	if err != nil {
		return nil, nil, err
	}
	reader := bufio.NewReader(bytes.NewReader(raw))
	header, err := textproto.NewReader(reader).ReadMIMEHeader()
	if err != nil {
		return nil, nil, errors.New("the headers cannot be read: give one \"name: value\" a line, then an empty line")
	}
	if bodyFile != "" {
		body, err := os.ReadFile(bodyFile) //nolint:gosec // the operator names the file
		return http.Header(header), body, err
	}
	body, err := io.ReadAll(reader)
	return http.Header(header), body, err
}

func writeReceiverReport(w io.Writer, report webhook.Report) {
	for _, f := range report.Findings {
		mark := "ok  "
		if !f.OK {
			mark = "FAIL"
		}
		fmt.Fprintf(w, "%s  %-9s  %s\n", mark, f.Check, tenant.Visible(f.Detail))
	}
}
