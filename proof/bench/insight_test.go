package bench

import (
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/insight"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"
	"agegate/internal/store/pgtest"
	"agegate/proof/crowd"

	"github.com/google/uuid"
)

// crowdSize is how many sessions the tenant of BenchmarkInsight has. One is
// created every crowdEvery, so that a million take a month. Most have an event.
var crowdSize = flag.Int("crowd", 1_000_000, "sessions of the tenant that BenchmarkInsight looks at")

const crowdEvery = 30 * 24 * time.Hour / 1_000_000

// BenchmarkInsight prints how long the dashboard's pages of a tenant with a
// million sessions take, as measured by a client (95th percentile), and fails if
// one misses its mark.
func BenchmarkInsight(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) { benchmarkInsight(b, dbtest.SQLiteOnDisk(b)) })
	b.Run("postgres", func(b *testing.B) { benchmarkInsight(b, pgtest.URL(b)) })
}

func benchmarkInsight(b *testing.B, databaseURL string) {
	now := time.Now().UTC().Truncate(time.Millisecond)
	owner := tenant.Tenant{
		ID: uuid.Must(uuid.NewV7()), Name: "Crowd", CreatedAt: now.AddDate(-1, 0, 0),
		SuccessURL: "https://shop.example/checkout/age", CancelURL: "https://shop.example/basket",
		WebhookURL: "https://shop.example/hooks/age",
	}
	filling := crowd.Crowd{Sessions: *crowdSize, Until: now, Over: time.Duration(*crowdSize) * crowdEvery}
	var keys []tenant.APIKey
	for i := range 3 {
		key := tenant.APIKey{ID: uuid.Must(uuid.NewV7()), TenantID: owner.ID, Livemode: true, LastFour: "abcd",
			CreatedAt: now}
		key.Hash[0] = byte(i)
		keys = append(keys, key)
		filling.Shops = append(filling.Shops, crowd.Shop{TenantID: owner.ID, KeyID: key.ID})
	}
	within(b, databaseURL, func(db *store.Store) error {
		made := audit.Act{Scope: audit.Instance, At: now, Actor: audit.System("test"), Action: audit.TenantCreate}
		return db.CreateTenant(b.Context(), owner, keys, nil, made)
	})
	began := time.Now()
	if err := crowd.Fill(b.Context(), databaseURL, filling); err != nil {
		b.Fatal(err)
	}
	b.Logf("filled with %d sessions in %s", *crowdSize, time.Since(began).Round(time.Second))
	began = time.Now()
	within(b, databaseURL, func(db *store.Store) error {
		return insight.NewService(db, billing.Limits{}, func() time.Time { return now }).Fold(b.Context(), func(time.Time) {})
	})
	b.Logf("folded in %s", time.Since(began).Round(time.Millisecond))
	gatewaytest.PasswordMemory = 0 // a log-in is one of the pages
	g := gatewaytest.Start(b, databaseURL)
	for _, row := range reads(b, g, owner.ID, now) {
		b.Run(row.name, func(b *testing.B) { measure(b, row) })
	}
}

// read is a page, or a log-in.
type read struct {
	name string
	mark time.Duration // of the 95th percentile
	do   func(i int)
}

// reads returns the pages to measure.
func reads(b *testing.B, g *gatewaytest.Gateway, tenantID uuid.UUID, now time.Time) []read {
	b.Helper()
	staff := g.SignIn(b, false, account.ByPasskey)
	g.Join(b, staff, tenantID, account.Owner)
	scope := insight.Scope{TenantID: tenantID, Livemode: true}
	age := time.Duration(*crowdSize) * crowdEvery
	day := func(t time.Time) string { return t.Format(time.DateOnly) }
	var sessions, deliveries []string
	for _, f := range []insight.SessionFilter{{}, {Status: session.StatusSpoof}, {To: now.Add(-age / 2)}} {
		page, err := g.App.Insight.Sessions(b.Context(), scope, f, uuid.Nil)
		if err != nil || len(page.Rows) != insight.PageSize {
			b.Fatalf("%d sessions, %v", len(page.Rows), err)
		}
		for _, row := range page.Rows {
			sessions = append(sessions, "/sessions/"+row.ID.String())
		}
	}
	for _, f := range []insight.DeliveryFilter{{}, {Status: webhook.StatusFailed}} {
		page, err := g.App.Insight.Deliveries(b.Context(), scope, f, "")
		if err != nil || len(page.Rows) != insight.PageSize {
			b.Fatalf("%d deliveries, %v", len(page.Rows), err)
		}
		for _, row := range page.Rows {
			deliveries = append(deliveries, "/webhooks/events/"+row.ID)
		}
	}
	get := func(paths ...string) func(i int) {
		return func(i int) {
			path := "/dashboard/" + tenantID.String() + "/live" + paths[i%len(paths)]
			// With this header the client does not decompress the answer, because
			// its work should not be measured.
			compressed := map[string]string{"Accept-Encoding": "gzip"}
			if res, _ := staff.Send(b, http.MethodGet, path, nil, compressed); res.StatusCode != http.StatusOK {
				b.Fatalf("%s: %d", path, res.StatusCode)
			}
		}
	}
	search := func(status int, name func(i int) string) func(i int) {
		return func(i int) {
			text := url.Values{"text": {name(i)}}
			res, _ := staff.Post(b, "/dashboard/"+tenantID.String()+"/live/paste", text)
			if res.StatusCode != status {
				b.Fatalf("the search for %v: %d", text, res.StatusCode)
			}
		}
	}
	const leads, lists = http.StatusSeeOther, http.StatusOK
	number := func(i int) int { return (i + 1) * 7919 % *crowdSize }
	overview := get("?window=24h", "?window=7d", "?window=30d")
	return []read{
		{"list", 15 * time.Millisecond, get(
			"/sessions", "/sessions?status=PASSED", "/sessions?status=SPOOF", "/sessions?status=EXPIRED",
			"/sessions?status=PENDING",
			"/sessions?age=16", "/sessions?age=77", "/sessions?to="+day(now.Add(-age/2)))},
		{"one session", 15 * time.Millisecond, get(sessions...)},
		{"deliveries", 15 * time.Millisecond, get(
			"/webhooks", "/webhooks?status=failed", "/webhooks?class=timeout", "/webhooks?class=tls")},
		{"one delivery", 15 * time.Millisecond, get(deliveries...)},
		{"keys", 15 * time.Millisecond, get("/keys")},
		{"search for an order", 150 * time.Millisecond, search(leads, func(i int) string { return fmt.Sprintf("a%d", number(i)) })},
		{"search for an order in an address", 150 * time.Millisecond, search(leads, func(i int) string {
			return fmt.Sprintf("https://shop.example/orders/A%d?lang=de&paid=1", number(i))
		})},
		{"search for an order's number", 150 * time.Millisecond, search(leads, func(i int) string {
			return fmt.Sprintf("%07d", number(i)) // without the zeros it is the beginning of others
		})},
		{"search for twenty orders that nobody has", 150 * time.Millisecond, search(lists, func(i int) string {
			return strings.Repeat(fmt.Sprintf("https://shop.example/B%d ", i), 20)
		})},
		{"search for the end of an ID", 150 * time.Millisecond, search(lists, func(i int) string {
			at := deliveries[i%len(deliveries)] // the session of an event has the same end here
			return "…" + at[len(at)-8:]
		})},
		{"overview, cold", 60 * time.Millisecond, func(i int) {
			g.Clock.Advance(16 * time.Second) // expires the cached values
			overview(i)
		}},
		{"overview, cached", 5 * time.Millisecond, overview},
		{"log-in", 80 * time.Millisecond, logIn(b, g)},
	}
}

// logIn returns a function that logs in with a password.
func logIn(b *testing.B, g *gatewaytest.Gateway) func(i int) {
	b.Helper()
	link, err := g.App.Accounts.NewSetupLink(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	const email, password = "ada@shop.example", "four owls under a blue moon"
	ada := account.Person{Name: "Ada", Email: email, Factor: account.Factor{Password: password}}
	_, token, _ := strings.Cut(link, account.LinkPath)
	if _, err := g.App.Accounts.SetUp(b.Context(), token, ada, account.Browser{}); err != nil {
		b.Fatal(err)
	}
	return func(int) {
		g.Clock.Advance(time.Second) // the instance checks a limited number of passwords per second
		res, _ := g.Nobody().Post(b, "/dashboard/login", url.Values{"email": {email}, "password": {password}})
		if res.StatusCode != http.StatusSeeOther {
			b.Fatalf("log-in: %d", res.StatusCode)
		}
	}
}

// measure prints the percentiles of a read.
func measure(b *testing.B, row read) {
	b.Helper()
	row.do(0) // opens connections and fills the caches
	var took []time.Duration
	before := cpuTime(b)
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		row.do(i)
		took = append(took, time.Since(start))
	}
	// The processor time of this process. Other load on the machine does not
	// increase it. It includes the client's work, but not PostgreSQL's.
	processors := (cpuTime(b) - before) / time.Duration(len(took))
	slices.Sort(took)
	quantile := func(q float64) time.Duration { return took[int(q*float64(len(took)-1))] }
	for name, d := range map[string]time.Duration{
		"cpu_ms": processors, "p50_ms": quantile(0.50), "p95_ms": quantile(0.95), "mark_ms": row.mark,
	} {
		b.ReportMetric(float64(d.Microseconds())/1000, name)
	}
	b.ReportMetric(0, "ns/op")
	if quantile(0.95) > row.mark { // the figures of a failed benchmark are only printed like this
		b.Errorf("%s: p95 %s, the mark is %s; p50 %s, %s of the processors", row.name, quantile(0.95), row.mark,
			quantile(0.50), processors)
	}
}

// cpuTime returns the processor time that this process has used.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
