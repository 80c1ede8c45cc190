package doctor

import (
	"context"
	"testing"
	"time"

	"agegate/internal/app/config"
	"agegate/internal/backoffice/certificate"
)

// ordered is a store with the certificates of a test.
type ordered struct {
	certificate.Store

	all []certificate.Certificate
}

func (o ordered) Certificates(context.Context) ([]certificate.Certificate, error) { return o.all, nil }

func TestOrders(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	later, before := now.Add(time.Hour), now.Add(-time.Hour)
	failed := certificate.Certificate{Name: "age.example.com", Failures: 3, Failure: "why", DueAt: later}
	with := func(end time.Time) certificate.Certificate {
		c := failed
		c.Sealed, c.NotAfter = []byte{1}, &end
		return c
	}
	for _, row := range []struct {
		name  string
		found []certificate.Certificate
		want  Grade
	}{
		{"nothing ordered", nil, Warning},
		{"ordered", []certificate.Certificate{{Name: "age.example.com", Sealed: []byte{1}, NotAfter: &later}}, OK},
		{"never given", []certificate.Certificate{failed}, Problem},
		{"not renewed yet", []certificate.Certificate{with(later)}, Warning},
		{"ended", []certificate.Certificate{with(before)}, Problem},
		{"of another host", []certificate.Certificate{{Name: "old.example.com", Failures: 1}}, Warning},
	} {
		cfg := config.Config{BaseURL: "https://age.example.com", TLS: config.TLS{ACME: true}}
		got, err := orderFindings(t.Context(), ordered{all: row.found}, cfg, now)
		if err != nil || len(got) != 1 || got[0].Grade != row.want || (got[0].Grade == OK) != (got[0].Advice == "") || !named(got[0]) {
			t.Errorf("%s: %+v", row.name, got)
		}
	}
}
