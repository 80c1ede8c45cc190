package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"agegate/internal/app/config"
	"agegate/internal/backoffice/certificate"
)

const tlsName = "AGEGATE_TLS"

// orderFindings judges the orders of certificates, if the gateway orders any. Their
// expiry is not judged here but at the public addresses.
func orderFindings(
	ctx context.Context, db certificate.Store, cfg config.Config, now time.Time,
) (findings []Finding, err error) {
	if !cfg.TLS.ACME {
		return nil, nil
	}
	stored, err := db.Certificates(ctx)
	if err != nil {
		return nil, err
	}
	for _, host := range cfg.Hosts() {
		i := slices.IndexFunc(stored, func(c certificate.Certificate) bool { return c.Name == host })
		f := Finding{Name: "order", Check: tlsName, Grade: Warning}
		switch {
		case i < 0:
			f.Found, f.Advice = "no certificate was ordered for "+host+" yet", "start the gateway, which orders it"
		case stored[i].Failures > 0:
			f.Found = fmt.Sprintf("the last order of a certificate for %s failed: %s; the next follows at %s", host,
				stored[i].Failure, stored[i].DueAt.Format("15:04 MST"))
			f.Advice = "look at the name in DNS and its CAA records, and whether port 80 of it leads to AGEGATE_HTTP_LISTEN"
			if stored[i].Sealed == nil || !stored[i].NotAfter.After(now) {
				f.Grade = Problem
			}
		default:
			f.Grade, f.Found = OK, "the certificate for "+host+" was ordered"
		}
		findings = append(findings, f)
	}
	return findings, nil
}
