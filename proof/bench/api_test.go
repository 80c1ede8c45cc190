package bench

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/gatewaytest"
	"agegate/internal/store/dbtest"
	"agegate/internal/store/pgtest"

	_ "github.com/jackc/pgx/v5/stdlib"
)

// demand is how many backends of merchants call at the same time, and for how
// many tenants. ratio is the mark for creations: those of one tenant share
// transactions, while the bare handler's wait for each other.
type demand struct {
	name             string
	clients, tenants int
	ratio            float64
}

var demands = []demand{{"1_client", 1, 1, 0.8}, {"16_clients", 16, 1, 2}, {"16_clients_50_tenants", 16, 50, 0.7}}

// BenchmarkCreate and BenchmarkStatus print the throughput of the gateway and of
// a bare handler, their ratio with its mark, and the gateway's latencies. They
// fail if a mark is missed.
func BenchmarkCreate(b *testing.B) {
	eachDatabase(b, func(b *testing.B, s *stand) {
		for mode, keys := range map[string][]string{"test": s.test, "live": s.live} {
			for _, d := range demands {
				b.Run(mode+"/"+d.name, func(b *testing.B) {
					s.compare(b, s.remembers, mark{d.ratio, 20}, d.clients, http.StatusCreated, func(base string, n int) *http.Request {
						return creation(base, keys[n%d.tenants])
					})
				})
			}
		}
	})
}

func creation(base, key string) *http.Request {
	req, _ := http.NewRequest(http.MethodPost, base+"/api/v1/sessions/create", strings.NewReader(`{"target_age":18}`))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-API-Key", key)
	return req
}

// BenchmarkStatus compares the gateway with a handler that looks the key up, and
// with one that, like the gateway, remembers it for a second.
func BenchmarkStatus(b *testing.B) {
	eachDatabase(b, func(b *testing.B, s *stand) {
		for name, of := range map[string]struct {
			bare string
			mark mark
		}{"key_looked_up": {s.looksUp, mark{ratio: 1.1}}, "key_remembered": {s.remembers, mark{ratio: 0.85}}} {
			b.Run(name, func(b *testing.B) {
				s.compare(b, of.bare, of.mark, demands[1].clients, http.StatusOK, func(base string, _ int) *http.Request {
					req, _ := http.NewRequest(http.MethodGet, base+"/api/v1/sessions/"+s.session.SessionID+"/status", nil)
					req.Header.Set("X-API-Key", s.test[0])
					return req
				})
			})
		}
	})
}

func eachDatabase(b *testing.B, compare func(b *testing.B, s *stand)) {
	b.Run("sqlite", func(b *testing.B) { compare(b, newStand(b, dbtest.SQLiteOnDisk(b))) })
	b.Run("postgres", func(b *testing.B) { compare(b, newStand(b, pgtest.URL(b))) })
}

// stand holds a gateway and bare handlers over the same database.
type stand struct {
	gateway, looksUp, remembers string   // base URLs
	test, live                  []string // keys, one per tenant
	session                     gatewaytest.Created
	client                      *http.Client
}

func newStand(b *testing.B, databaseURL string) *stand {
	g := gatewaytest.Start(b, databaseURL, "AGEGATE_TEST_DAILY_CAP=-1", "AGEGATE_FREE_CHECKS_PER_MONTH=-1",
		"AGEGATE_LOG_LEVEL=error")
	s := &stand{gateway: g.URL, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	for range 50 {
		shop := g.Shop(b, "", nil)
		s.test, s.live = append(s.test, shop.Test.APIKey), append(s.live, shop.Live.APIKey)
	}
	s.session = g.Create(b, s.test[0], 18)
	s.looksUp, s.remembers = openBare(b, databaseURL, false), openBare(b, databaseURL, true)
	return s
}

// openBare starts a bare handler and returns its base URL.
func openBare(b *testing.B, databaseURL string, remembers bool) string {
	b.Helper()
	bare := connectBare(b, databaseURL)
	bare.remembers = remembers
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/sessions/create", bare.create)
	mux.HandleFunc("GET /api/v1/sessions/{id}/status", bare.status)
	server := httptest.NewServer(mux)
	b.Cleanup(server.Close)
	return server.URL
}

func connectBare(b *testing.B, databaseURL string) *bare {
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

// perRound is how many requests each client sends in a round. Rounds alternate
// between two servers, so that a slow moment of the machine affects both.
const perRound = 50

// mark is what the first of two servers must reach: the minimum share of the
// second's throughput and the maximum 99th percentile of its latency. Zero means
// no limit.
type mark struct{ ratio, p99 float64 }

func (s *stand) compare(
	b *testing.B, bareURL string, m mark, clients, want int, request func(base string, n int) *http.Request,
) {
	s.alternate(b, server{"gateway", s.gateway}, server{"bare", bareURL}, m, clients, want, request)
}

// server is one of two that are compared.
type server struct{ name, url string }

// alternate prints the throughput of both servers, their ratio and the latencies of
// the first. It fails if the first misses the mark. The servers take turns to begin
// a round, and the ratio is the median of the rounds' ratios, because a single
// checkpoint or vacuum can slow a round down many times.
func (s *stand) alternate(
	b *testing.B, first, second server, m mark, clients, want int, request func(base string, n int) *http.Request,
) {
	var whole [2]time.Duration
	var took [2][]time.Duration
	var ratios []float64
	servers := [2]server{first, second}
	for _, one := range servers {
		s.load(b, one.url, clients, 200, want, request)
	}
	for round := 0; b.Loop(); round++ {
		var times [2]time.Duration
		for i := range servers {
			i = (i + round) % len(servers)
			var each []time.Duration
			times[i], each = s.load(b, servers[i].url, clients, clients*perRound, want, request)
			whole[i], took[i] = whole[i]+times[i], append(took[i], each...)
		}
		ratios = append(ratios, float64(times[1])/float64(times[0]))
	}
	for i, one := range servers {
		b.ReportMetric(float64(len(took[i]))/whole[i].Seconds(), one.name+"_req/s")
	}
	slices.Sort(ratios)
	at := func(share int) float64 { return ratios[len(ratios)*share/100] }
	ratio, p99 := at(50), quantile(took[0], 0.99)
	b.ReportMetric(ratio, first.name+"/"+second.name)
	b.ReportMetric(quantile(took[1], 0.99), second.name+"_p99_ms")
	report(b, took[0])
	say, verdict := b.Logf, "met"
	if ratio < m.ratio || m.p99 > 0 && p99 > m.p99 {
		say, verdict = b.Errorf, "missed" // the figures of a failed benchmark are only printed like this
	}
	limit := ""
	if m.p99 > 0 {
		limit = fmt.Sprintf(", the mark is %g ms", m.p99)
	}
	say("%s: %s/%s %.2f, the mark is %.2f; half of %d rounds %.2f to %.2f; p99 %.1f ms%s; %.0f and %.0f req/s",
		verdict, first.name, second.name, ratio, m.ratio, len(ratios), at(25), at(75), p99, limit,
		float64(len(took[0]))/whole[0].Seconds(), float64(len(took[1]))/whole[1].Seconds())
}

// load sends n requests from all clients, and returns the total time and the time
// of each.
func (s *stand) load(
	b *testing.B, base string, clients, n, want int, request func(base string, n int) *http.Request,
) (time.Duration, []time.Duration) {
	var next atomic.Int64
	var wg sync.WaitGroup
	took := make([]time.Duration, n)
	start := time.Now()
	for range clients {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				sent := time.Now()
				if err := s.send(request(base, i), want); err != nil {
					b.Error(err)
					return
				}
				took[i] = time.Since(sent)
			}
		})
	}
	wg.Wait()
	return time.Since(start), took
}

func (s *stand) send(req *http.Request, want int) error {
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
