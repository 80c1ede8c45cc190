package bench

import (
	"cmp"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/insight"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"
	"agegate/internal/store/pgtest"
	"agegate/proof/crowd"

	"github.com/google/uuid"
)

// The databases that BenchmarkScale compares: their sessions were created over
// three months.
var (
	many = flag.Int("many", 0, "sessions of the larger database of BenchmarkScale, which make scale runs")
	few  = flag.Int("few", 0, "sessions of the smaller one; 0 for a hundredth")
)

const crowdOver = 90 * 24 * time.Hour

var withinAFifth = mark{ratio: 0.8}

// BenchmarkScale compares, in alternating rounds, a gateway on a database with
// many sessions to one with few, and prints the sizes of the tables. It fails if
// the first gateway's throughput is less than 0.8 of the second's.
func BenchmarkScale(b *testing.B) {
	if *many == 0 {
		b.Skip("run by make scale")
	}
	b.Run("sqlite", func(b *testing.B) { benchmarkScale(b, "SQLite", gatewaytest.SQLite) })
	b.Run("postgres", func(b *testing.B) { benchmarkScale(b, "PostgreSQL", pgtest.URL) })
}

func benchmarkScale(b *testing.B, dialect string, database func(testing.TB) string) {
	small := newCrowded(b, dialect, database(b), cmp.Or(*few, *many/100))
	large := newCrowded(b, dialect, database(b), *many)
	of := map[string]*crowded{small.URL: small, large.URL: large}
	benchmarkLooks(b, large, small)
	s := &stand{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	b.Run("status", func(b *testing.B) {
		s.alternate(b, server{"large", large.URL}, server{"small", small.URL}, withinAFifth, 16, http.StatusOK,
			func(base string, n int) *http.Request {
				c := of[base]
				req, _ := http.NewRequest(http.MethodGet, base+"/api/v1/sessions/"+c.sessions[n*7919%len(c.sessions)]+"/status",
					nil)
				req.Header.Set("X-API-Key", c.live[0])
				return req
			})
	})
	for mode, keys := range map[string]func(*crowded) []string{
		"test": func(c *crowded) []string { return c.test }, "live": func(c *crowded) []string { return c.live },
	} {
		for _, d := range demands {
			b.Run("create/"+mode+"/"+d.name, func(b *testing.B) {
				s.alternate(b, server{"large", large.URL}, server{"small", small.URL}, withinAFifth, d.clients,
					http.StatusCreated, func(base string, n int) *http.Request {
						return creation(base, keys(of[base])[n%d.tenants])
					})
			})
		}
	}
}

// crowded is a gateway on a database filled with sessions.
type crowded struct {
	*gatewaytest.Gateway
	n          int // sessions
	tenants    []uuid.UUID
	test, live []string // keys, one per tenant
	sessions   []string // some live sessions of the first tenant, from all times
}

// newCrowded fills a database, prints the sizes of its tables, and starts a
// gateway on it.
func newCrowded(b *testing.B, dialect, databaseURL string, sessions int) *crowded {
	b.Helper()
	secret := make([]byte, credential.SecretLen)
	_, _ = rand.Read(secret) // Read never fails
	c := &crowded{n: sessions}
	filling := crowd.Crowd{Sessions: sessions, Until: time.Now().Add(-time.Hour), Over: crowdOver}
	within(b, databaseURL, func(db *store.Store) error {
		sealer, err := credential.NewSealer(secret, rand.Reader)
		if err != nil {
			return err
		}
		tenants := tenant.NewService(db, sealer, tenant.CallbackRule{}, rand.Reader, utc)
		for range 50 {
			shop, err := tenants.Create(b.Context(), audit.System("test"), tenant.Tenant{
				Name: "Shop", SuccessURL: "https://shop.example/checkout/age", CancelURL: "https://shop.example/basket",
				WebhookURL: "https://shop.example/hooks/age",
			})
			if err != nil {
				return err
			}
			c.test, c.live = append(c.test, shop.Test.APIKey), append(c.live, shop.Live.APIKey)
			c.tenants = append(c.tenants, shop.Tenant.ID)
			filling.Shops = append(filling.Shops, crowd.Shop{TenantID: shop.Tenant.ID, KeyID: uuid.New()})
		}
		return nil
	})
	began := time.Now()
	if err := crowd.Fill(b.Context(), databaseURL, filling); err != nil {
		b.Fatal(err)
	}
	fmt.Printf("\n%s: filled with %d sessions in %s\n", dialect, sessions, time.Since(began).Round(time.Second))
	printSizes(b, dialect, databaseURL, sessions)
	began = time.Now()
	within(b, databaseURL, func(db *store.Store) error {
		return insight.NewService(db, billing.Limits{}, utc).Fold(b.Context(), func(time.Time) {})
	})
	fmt.Printf("folded in %s\n", time.Since(began).Round(time.Second))
	c.sessions = sample(b, databaseURL, filling)
	warm(b, databaseURL)
	c.Gateway = gatewaytest.Start(b, databaseURL, "AGEGATE_SECRET_KEY="+base64.StdEncoding.EncodeToString(secret),
		"AGEGATE_TEST_DAILY_CAP=-1", "AGEGATE_FREE_CHECKS_PER_MONTH=-1", "AGEGATE_LOG_LEVEL=error")
	return c
}

func utc() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// within opens and migrates the database, calls do, and closes the database.
func within(b *testing.B, databaseURL string, do func(*store.Store) error) {
	b.Helper()
	db, err := store.Open(b.Context(), store.Config{URL: databaseURL, Timeout: 10 * time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	if err := db.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	if err := do(db); err != nil {
		b.Fatal(err)
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
}

// printSizes prints the lines of the table in docs/scale.md.
func printSizes(b *testing.B, dialect, databaseURL string, sessions int) {
	b.Helper()
	sizes, err := crowd.Sizes(b.Context(), databaseURL)
	if err != nil {
		b.Fatal(err)
	}
	var all crowd.Size
	var lines strings.Builder
	line := func(s crowd.Size) {
		perMillion := func(n int64, unit float64) float64 { return float64(n) / unit * 1e6 / float64(sessions) }
		fmt.Fprintf(&lines, "| %s, %d sessions | `%s` | %.2f | %.0f | %.0f |\n", dialect, sessions, s.Table,
			perMillion(s.Rows, 1e6), perMillion(s.Data, 1e6), perMillion(s.Indexes, 1e6))
	}
	for _, s := range sizes {
		line(s)
		all = crowd.Size{Table: "all", Rows: all.Rows + s.Rows, Data: all.Data + s.Data, Indexes: all.Indexes + s.Indexes}
	}
	line(all)
	fmt.Printf("\nper million checks: million rows, MB of data, MB of indexes; %.1f GB on disk\n%s",
		float64(all.Data+all.Indexes)/1e9, &lines)
}

// warm reads the database's files once, so that the operating system has them in
// memory, as for a database in use, if they fit.
func warm(b *testing.B, databaseURL string) {
	b.Helper()
	root, isSQLite := strings.CutPrefix(databaseURL, "sqlite:")
	if !isSQLite {
		db, err := sql.Open("pgx", databaseURL)
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		if err := db.QueryRowContext(b.Context(),
			"SELECT current_setting('data_directory') || '/base'").Scan(&root); err != nil {
			b.Fatal(err)
		}
	}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, file)
		return errors.Join(err, file.Close())
	})
	if err != nil {
		b.Fatal(err)
	}
}

// sample returns up to 20 live sessions of the first tenant from each of a
// hundred points in time.
func sample(b *testing.B, databaseURL string, c crowd.Crowd) (ids []string) {
	b.Helper()
	driver, dsn := "pgx", databaseURL
	if path, ok := strings.CutPrefix(databaseURL, "sqlite:"); ok {
		driver, dsn = "sqlite", "file:"+path
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	for i := range 100 {
		after := c.Until.Add(-c.Over * time.Duration(100-i) / 100).UTC().Format("2006-01-02 15:04:05.000+00:00")
		ids = append(ids, firstAfter(b, db, c, after)...)
	}
	if len(ids) == 0 {
		b.Fatal("no session was found")
	}
	return ids
}

// firstAfter returns the first live sessions of the first shop created after a
// point in time.
func firstAfter(b *testing.B, db *sql.DB, c crowd.Crowd, moment string) (ids []string) {
	b.Helper()
	rows, err := db.QueryContext(b.Context(), `SELECT CAST(id AS text) FROM sessions
		WHERE tenant_id = $1 AND created_at > $2 AND livemode ORDER BY created_at LIMIT 20`, c.Shops[0].TenantID.String(), moment)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			b.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return ids
}
