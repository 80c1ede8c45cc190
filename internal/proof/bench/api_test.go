package bench

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/proof/harness"
	"agegate/internal/store/pgtest"

	_ "github.com/jackc/pgx/v5/stdlib"
)

// clients is the number of merchants' backends that call at the same time.
const clients = 8

// BenchmarkCreate and BenchmarkStatus print the gateway's throughput, the bare
// handler's, and gateway/bare.
func BenchmarkCreate(b *testing.B) { eachDatabase(b, compareCreate) }

// BenchmarkStatus is the same for the status lookup.
func BenchmarkStatus(b *testing.B) { eachDatabase(b, compareStatus) }

func eachDatabase(b *testing.B, compare func(b *testing.B, s *stand)) {
	b.Run("sqlite", func(b *testing.B) { compare(b, newStand(b, harness.SQLite(b))) })
	b.Run("postgres", func(b *testing.B) { compare(b, newStand(b, pgtest.URL(b))) })
}

// stand is a gateway and a bare handler over the same database.
type stand struct {
	gateway, bare string // base URLs
	key           string
	session       harness.Created
	client        *http.Client
}

func newStand(b *testing.B, databaseURL string) *stand {
	g := harness.Start(b, databaseURL, "AGEGATE_TEST_DAILY_CAP=-1", "AGEGATE_LOG_LEVEL=error")
	shop := g.Shop(b, "", nil)
	bare := openBare(b, databaseURL)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/sessions/create", bare.create)
	mux.HandleFunc("GET /api/v1/sessions/{id}/status", bare.status)
	server := httptest.NewServer(mux)
	b.Cleanup(server.Close)
	return &stand{
		gateway: g.URL, bare: server.URL, key: shop.Test.APIKey, session: g.Create(b, shop.Test.APIKey, 18),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}},
	}
}

func openBare(b *testing.B, databaseURL string) *bare {
	b.Helper()
	path, isSQLite := strings.CutPrefix(databaseURL, "sqlite:")
	if !isSQLite {
		db := openDB(b, "pgx", databaseURL, 20)
		return &bare{read: db, write: db, postgres: true}
	}
	dsn := func(params url.Values) string { return "file:" + path + "?" + params.Encode() }
	return &bare{
		read: openDB(b, "sqlite", dsn(url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(5000)", "query_only(1)"}}), 4),
		write: openDB(b, "sqlite", dsn(url.Values{"_txlock": {"immediate"},
			"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"}}), 1),
	}
}

func openDB(b testing.TB, driver, dsn string, conns int) *sql.DB {
	b.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	b.Cleanup(func() { _ = db.Close() })
	return db
}

func compareCreate(b *testing.B, s *stand) {
	s.compare(b, http.StatusCreated, func(base string) *http.Request {
		req, _ := http.NewRequest(http.MethodPost, base+"/api/v1/sessions/create", strings.NewReader(`{"target_age":18}`))
		req.Header.Set("Content-Type", "application/json")
		return req
	})
}

func compareStatus(b *testing.B, s *stand) {
	s.compare(b, http.StatusOK, func(base string) *http.Request {
		req, _ := http.NewRequest(http.MethodGet, base+"/api/v1/sessions/"+s.session.SessionID+"/status", nil)
		return req
	})
}

// rounds alternate between the two, so that a slow moment of the machine
// falls on both.
const rounds = 10

func (s *stand) compare(b *testing.B, want int, request func(base string) *http.Request) {
	s.load(b, s.gateway, 200, want, request)
	s.load(b, s.bare, 200, want, request)
	b.ResetTimer()
	var gateway, bare time.Duration
	n := max(1, b.N/rounds)
	for range rounds {
		bare += s.load(b, s.bare, n, want, request)
		gateway += s.load(b, s.gateway, n, want, request)
	}
	total := float64(n * rounds)
	b.ReportMetric(total/gateway.Seconds(), "gateway_req/s")
	b.ReportMetric(total/bare.Seconds(), "bare_req/s")
	b.ReportMetric(bare.Seconds()/gateway.Seconds(), "gateway/bare")
	b.ReportMetric(0, "ns/op")
}

// load sends n requests from all clients and returns how long that took.
func (s *stand) load(b *testing.B, base string, n, want int, request func(base string) *http.Request) time.Duration {
	var next atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for range clients {
		wg.Go(func() {
			for next.Add(1) <= int64(n) {
				if err := s.send(request(base), want); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}

func (s *stand) send(req *http.Request, want int) error {
	req.Header.Set("X-API-Key", s.key)
	res, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != want {
		return fmt.Errorf("%s answers %d", req.URL.Path, res.StatusCode)
	}
	return nil
}
