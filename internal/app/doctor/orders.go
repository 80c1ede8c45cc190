package doctor

import (
	"context"
	"fmt"
	"slices"

	"agegate/internal/backoffice/certificate"
)

// orders reports failed orders of certificates. The expiry of a certificate is checked
// where it is served, as for all public addresses.
func (e *examiner) orders(ctx context.Context, db certificate.Store) {
	const check = "AGEGATE_TLS"
	if !e.Config.TLS.ACME {
		return
	}
	stored, err := db.Certificates(ctx)
	if err != nil {
		e.problem(check, err.Error(), "look for the cause in the database's own log")
		return
	}
	for _, host := range e.Config.Hosts() {
		i := slices.IndexFunc(stored, func(c certificate.Certificate) bool { return c.Name == host })
		switch {
		case i < 0:
			e.warn(check, "no certificate was ordered for "+host+" yet", "start the gateway, which orders it")
		case stored[i].Failures > 0:
			found := fmt.Sprintf("the last order of a certificate for %s failed: %s; the next follows at %s", host,
				stored[i].Failure, stored[i].DueAt.Format("15:04 MST"))
			const advice = "look at the name in DNS and its CAA records, and whether port 80 of it leads to AGEGATE_HTTP_LISTEN"
			if stored[i].Sealed == nil || !stored[i].NotAfter.After(e.Now()) {
				e.problem(check, found, advice)
			} else {
				e.warn(check, found, advice)
			}
		default:
			e.ok(check, "the certificate for "+host+" was ordered")
		}
	}
}
