package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"agegate/internal/app/config"
	"agegate/internal/check/document"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
	"agegate/internal/store"
)

// facts are the configuration and the database, by which alone some findings are judged.
type facts struct {
	cfg config.Config
	db  *store.Store
	key *credential.Sealer
	now time.Time

	answers bool // a gateway answers at the public address
}

// stored are the examinations of what the database says of the installation. The command and the operator's page make
// them. The names of what they find, and what the documentation says about each, are in dashboard.FindingPlaces.
var stored = []struct {
	name string
	find func(context.Context, facts) ([]Finding, error)
}{
	{"secret key", keyFindings},
	{"trust", func(ctx context.Context, f facts) ([]Finding, error) {
		found, err := document.DependenciesOf(ctx, f.db, f.now)
		return trustFindings(found, f.now), err
	}},
	{"protection", func(ctx context.Context, f facts) ([]Finding, error) {
		found, err := f.db.Standing(ctx)
		return standingFindings(found, f.now), err
	}},
	{"tenants", tenantFindings},
	{"mails", mailFindings},
	{"disk", diskFindings(1 << 30)},
	{"certificates", func(ctx context.Context, f facts) ([]Finding, error) {
		return orderFindings(ctx, f.db, f.cfg, f.now)
	}},
}

// settings judges what the configuration alone says.
func settings(cfg config.Config, now time.Time) []Finding {
	kept := Finding{"retention", "AGEGATE_RETENTION", Warning, "it is not set: finished sessions are kept until " +
		"somebody deletes them", "set a number of days, such as 90d; docs/operations/stored.md says what goes then", nil}
	if days := int(cfg.Retention.Hours() / 24); days > 0 {
		kept = Finding{Check: kept.Check, Grade: OK, Found: fmt.Sprintf("finished sessions are deleted %dd after their "+
			"creation", days)}
	}
	kept.Found += fmt.Sprintf("; webhook events go after %dd, and the audit log and the ledger stay",
		int(webhook.Retention.Hours()/24))
	findings := append(secureFindings(cfg), kept)
	if c := cfg.Security; c.URI != "" && now.AddDate(0, 1, 0).After(c.Until) {
		findings = append(findings, Finding{"security_contact", "security.txt", Warning,
			"its contact is good until " + c.Until.Format(time.DateOnly) + "; programs trust none of a past day",
			"check that the contact is read, and set a later day in AGEGATE_SECURITY_CONTACT_UNTIL", nil})
	}
	if cfg.ServesPages() {
		f := Finding{Check: "AGEGATE_OPERATOR_NAME", Grade: OK, Found: "shoppers see who runs the check"}
		if cfg.OperatorName == "" {
			f = Finding{"operator_name", f.Check, Warning, "it is not set: shoppers do not see who runs the check",
				"set it to the name of your company, as its privacy notice has it", nil}
		}
		findings = append(findings, f)
	}
	if cfg.Margin.Usual < tenant.DefaultMargin {
		findings = append(findings, Finding{"margin", "AGEGATE_AGE_MARGIN", Warning, fmt.Sprintf(
			"it is below %d: more minors pass than docs/expect.md says", tenant.DefaultMargin), "unset it, or raise it", nil})
	}
	if cfg.AllowInsecureCallbacks && strings.HasPrefix(cfg.BaseURL, "https:") {
		findings = append(findings, Finding{"callbacks", "AGEGATE_ALLOW_INSECURE_CALLBACKS", Warning,
			"it is on: results may be sent over http", "unset it: it is for tests", nil})
	}
	return findings
}

// Known returns what is wrong according to the configuration and the database alone, problems first. It changes
// nothing and connects to nothing else, so a running gateway can call it often.
func Known(
	ctx context.Context, cfg config.Config, db *store.Store, key *credential.Sealer, now time.Time,
) ([]Finding, error) {
	all := settings(cfg, now)
	for _, s := range stored {
		found, err := s.find(ctx, facts{cfg, db, key, now, false})
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	all = slices.DeleteFunc(all, func(f Finding) bool { return f.Grade == OK })
	// "problem" comes before "warning"
	slices.SortStableFunc(all, func(a, b Finding) int { return cmp.Compare(a.Grade, b.Grade) })
	return all, nil
}
