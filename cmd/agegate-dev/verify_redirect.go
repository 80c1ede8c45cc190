package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"agegate/cmd/internal/terminal"
	"agegate/internal/lab/verify"
	"agegate/internal/rules/credential"

	"github.com/spf13/cobra"
)

func (c *cli) verifyRedirect() *cobra.Command {
	var session string
	cmd := &cobra.Command{
		Use:   "redirect [--session ID] < FILE",
		Short: "Check a redirect to the Success URL, and explain why it does not verify",
		Long: `Verify a redirect to the Success URL as a shop should. Standard input holds the address
or its query. The secret is read from REDIRECT_SECRET (rdsec_test_… or rdsec_live_…).
With --session, the redirect must be that of the session. The exit status is 1 when it
does not verify.`,
		Example: `  echo 'https://shop.example/thanks?token=…' | agegate-dev verify redirect`,
		Args:    cobra.NoArgs,
	}
	cmd.Flags().StringVar(&session, "session", "", "the session that you created for this shopper")
	out := terminal.OutputFlag(cmd, terminal.OneObject)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		key, err := c.secret("REDIRECT_SECRET", "rdsec_")
		if err != nil {
			return err
		}
		text, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxInput))
		if err != nil {
			return err
		}
		report := explainRedirect(key, paramsOf(string(text)), session, now())
		return printFindings(out, report, "the redirect does not verify")
	}
	return cmd
}

// paramsOf reads the parameters of an address, or of a query alone.
func paramsOf(text string) url.Values {
	text = strings.TrimSpace(text)
	if _, query, found := strings.Cut(text, "?"); found {
		text = query
	}
	text, _, _ = strings.Cut(text, "#")
	params, _ := url.ParseQuery(text) // what cannot be read counts as missing
	return params
}

// explainRedirect makes every check of a redirect. No finding repeats a parameter.
func explainRedirect(key []byte, params url.Values, session string, now time.Time) verify.Report {
	report := verify.Report{Valid: true}
	for _, name := range []string{"token", "session", "status", "is_adult"} {
		if len(params[name]) != 1 || params.Get(name) == "" {
			report.Add("params", false, "token, session, status and is_adult must each be there once; %s is not", name)
			return report
		}
	}
	report.Add("params", true, "the four parameters are there once")
	redirect := credential.Redirect{
		Session: params.Get("session"), Status: params.Get("status"), IsAdult: params.Get("is_adult") == "true",
	}
	err := verify.RedirectToken(key, params.Get("token"), redirect, now)
	switch {
	case errors.Is(err, verify.ErrTokenMalformed):
		report.Add("signature", false, "the token is not {expires_ts}.{base64url_mac}: pass it on unchanged")
	case errors.Is(err, verify.ErrTokenSignature):
		report.Add("signature", false, "the secret did not sign these parameters: take the secret of the session's mode, "+
			"and the parameters as received")
	default:
		report.Add("signature", true, "the secret signed these parameters")
		report.Add("expiry", err == nil, "%s", expiry(params.Get("token"), now))
	}
	if redirect.Status == "VERIFIED" && redirect.IsAdult {
		report.Add("result", true, "status is VERIFIED and is_adult is true")
	} else {
		report.Add("result", false, "only status VERIFIED with is_adult true is a pass")
	}
	if session != "" {
		report.Add("session", redirect.Session == session, "session must be the one that you created for this shopper")
	}
	return report
}

// expiry says when a token whose signature is valid expires.
func expiry(token string, now time.Time) string {
	ts, _, _ := strings.Cut(token, ".")
	seconds, _ := strconv.ParseInt(ts, 10, 64) // signed, so it is a number
	left := time.Unix(seconds, 0).Sub(now).Round(time.Second)
	if left < 0 {
		return fmt.Sprintf("the token expired %s ago", -left)
	}
	return fmt.Sprintf("the token expires in %s", left)
}
