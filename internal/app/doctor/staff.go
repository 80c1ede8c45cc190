package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/account/oidc"
)

// mail connects to the mail server in the same way as for a mail, but sends none.
func (e *examiner) mail(ctx context.Context) {
	const check = "AGEGATE_SMTP_URL"
	switch {
	case e.Config.SMTP == nil:
		e.ok(check, "it is not set: no mail is sent, and people pass on links themselves")
		return
	case !e.Config.ServesAPI():
		return
	}
	if err := e.Config.SMTP.Check(ctx); err != nil {
		e.problem(check, err.Error(), "check host, port, user and password, whether the server offers STARTTLS (smtp://) "+
			"or TLS (smtps://) with a valid certificate, and whether this machine may reach it")
		return
	}
	e.ok(check, "the mail server takes the connection and the credentials; no mail was sent")
}

// mailFindings says whether mails wait that a mail server which is well would have taken.
func mailFindings(ctx context.Context, f facts) ([]Finding, error) {
	n, err := f.db.WaitingMails(ctx, f.now.Add(-mailLate), f.now)
	if n == 0 || err != nil {
		return nil, err
	}
	return []Finding{{"mails", "mails", Warning, fmt.Sprintf("still to be sent: %d", n),
		`the gateway's log says why: look for "a mail was not sent yet"`, nil}}, nil
}

// mailLate is how long after it was made a mail is late: it was tried twice.
const mailLate = 2 * time.Minute

// whys are the reasons of a provider that cannot be used, in words.
var whys = map[account.Why]string{
	account.WhyDNS:     "its name is not known",
	account.WhyConnect: "it takes no connection",
	account.WhyTLS:     "its certificate is not valid, or it does not speak TLS",
	account.WhyTimeout: "it does not answer in time",
	account.WhyAnswer:  "there is no discovery document of exactly this issuer",
}

// sso reads the discovery document of the instance's identity provider.
func (e *examiner) sso(ctx context.Context) {
	const check = "AGEGATE_OIDC_ISSUER"
	if e.Config.SSO.Issuer == "" || !e.Config.ServesAPI() {
		return
	}
	if err := oidc.New(e.Config.SSO, e.Now).Check(ctx); err != nil {
		found := "it cannot be used"
		if failed, ok := errors.AsType[*account.ProviderError](err); ok && whys[failed.Why] != "" {
			found = whys[failed.Why]
		}
		e.problem(check, found, "write the issuer as the provider does, letter by letter, without "+
			"/.well-known/openid-configuration, and let this machine reach it")
		return
	}
	e.ok(check, "the provider's discovery document can be read; register the redirect URI "+
		e.Config.DashboardURL+account.SSOBackPath)
}
