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

	"agegate/cmd/internal/terminal"
	"agegate/internal/lab/verify"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/tenant"

	"github.com/spf13/cobra"
)

// maxInput is the maximum size of what is verified, in bytes.
const maxInput = 1 << 20

func (c *cli) verifyCommand() *cobra.Command {
	return terminal.Group("verify", "Explain why a redirect or a delivery does not verify", "",
		c.verifyRedirect(), c.verifyWebhook())
}

func (c *cli) verifyWebhook() *cobra.Command {
	var headerFile, bodyFile string
	cmd := &cobra.Command{
		Use:   "webhook",
		Short: "Check a received delivery, and explain why it does not verify",
		Long: `Verify a delivery as a receiver should. The secret is read from WEBHOOK_SECRET.
Without --body, standard input holds the headers, an empty line and the body.
The exit status is 1 when the delivery does not verify.`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&headerFile, "headers", "", "file with one header a line")
	cmd.Flags().StringVar(&bodyFile, "body", "", "file with the raw body")
	out := terminal.OutputFlag(cmd, terminal.OneObject)
	cmd.MarkFlagsRequiredTogether("headers", "body")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		key, err := c.secret("WEBHOOK_SECRET", credential.WebhookSecretPrefix)
		if err != nil {
			return err
		}
		header, body, err := readDelivery(cmd.InOrStdin(), headerFile, bodyFile)
		if err != nil {
			return err
		}
		return printFindings(out, verify.Webhook(key, header, body, now()), "the delivery does not verify")
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
		raw, err = io.ReadAll(io.LimitReader(stdin, maxInput))
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

// printFindings prints every check. It returns an error with the text failed if one
// was not passed.
func printFindings(out *terminal.Output, report verify.Report, failed string) error {
	err := out.Print(report, func(w io.Writer) {
		for _, f := range report.Findings {
			mark := "ok  "
			if !f.OK {
				mark = "FAIL"
			}
			fmt.Fprintf(w, "%s  %-9s  %s\n", mark, f.Check, tenant.Visible(f.Detail))
		}
	})
	if err == nil && !report.Valid {
		return errors.New(failed)
	}
	return err
}
