package session_test

import (
	"crypto/rand"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"
	"agegate/internal/store/pgtest"
)

// BenchmarkComplete prints how many live sessions per second eight shoppers
// complete, each with its event and its unit.
func BenchmarkComplete(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) { complete(b, "sqlite:"+filepath.Join(b.TempDir(), "agegate.db")) })
	b.Run("postgres", func(b *testing.B) { complete(b, pgtest.URL(b)) })
}

func complete(b *testing.B, database string) {
	try := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	ctx := b.Context()
	db, err := store.Open(ctx, store.Config{URL: database})
	try(err)
	b.Cleanup(func() { try(db.Close()) })
	try(db.Migrate(ctx))
	now := func() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
	sealer, err := credential.NewSealer(make([]byte, credential.SecretLen), rand.Reader)
	try(err)
	tenants := tenant.NewService(db, sealer, tenant.CallbackRule{}, rand.Reader, now)
	sessions := session.NewService(session.Config{
		VerifyURL: "https://v.example", TTL: time.Hour, TokenTTL: time.Minute,
		Limits: billing.Limits{FreeChecksPerMonth: billing.Unlimited},
	}, db, tenants, sealer, rand.Reader, now, func() {})
	shop, err := tenants.Create(ctx, audit.System("test"), tenant.Tenant{
		Name: "Shop", SuccessURL: "https://s.example/", CancelURL: "https://s.example/", WebhookURL: "https://s.example/hook",
	})
	try(err)
	open := make([]session.Session, b.N)
	for i := range open {
		made, err := sessions.Create(ctx, tenant.Caller{TenantID: shop.Tenant.ID, Livemode: true},
			session.CreateRequest{TargetAge: 18})
		try(err)
		open[i], err = sessions.ByLink(ctx, made.VerificationURL[len("https://v.example/v/"):])
		try(err)
	}
	years := 30.5
	b.ResetTimer()
	var next atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
				verdict := session.CheckResult{Result: session.ResultVerified, Source: session.SourceCamera, Estimate: &years}
				if _, err := sessions.Resolve(ctx, open[i], verdict); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "completions/s")
	b.ReportMetric(0, "ns/op")
}
