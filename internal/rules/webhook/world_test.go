package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"agegate/internal/lab/verify"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"
)

// hangLimit bounds the waits of a test.
const hangLimit = 10 * time.Minute

var signingKey = []byte("a signing key of 32 bytes, fixed")

type fixedKeys struct{ failures, panics atomic.Int32 }

func (k *fixedKeys) WebhookKeys(context.Context, uuid.UUID, bool) ([][]byte, error) {
	if k.panics.Add(-1) >= 0 {
		panic("a fault")
	}
	if k.failures.Add(-1) >= 0 {
		return nil, errors.New("no keys at the moment")
	}
	return [][]byte{signingKey}, nil
}

// post is one POST that a receiver got.
type post struct{ id, body string }

// receiver records every POST, all of which must verify, and answers as configured.
type receiver struct {
	t      testing.TB
	url    string
	answer func(n int, w http.ResponseWriter, r *http.Request) // n is the number of the POST, from 0
	mu     sync.Mutex
	posts  []post
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	if report := verify.Webhook(signingKey, req.Header, body, time.Now()); !report.Valid {
		r.t.Errorf("a delivery does not verify: %+v", report.Findings)
	}
	r.mu.Lock()
	n := len(r.posts)
	r.posts = append(r.posts, post{req.Header.Get("webhook-id"), string(body)})
	r.mu.Unlock()
	r.answer(n, w, req)
}

func (r *receiver) seen() []post {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.posts)
}

func status(code int) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// network leads requests to receivers by their host, without sockets.
type network map[string]*receiver

func (n network) RoundTrip(req *http.Request) (*http.Response, error) {
	res, done := httptest.NewRecorder(), make(chan struct{})
	go func() {
		defer close(done)
		n[req.URL.Host].ServeHTTP(res, req)
	}()
	select {
	case <-done:
	case <-req.Context().Done():
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	return res.Result(), nil
}

// schedule is a schedule of three attempts.
var schedule = webhook.Schedule{time.Millisecond, 2 * time.Millisecond}

// world is a store and a tenant, for which a test starts dispatchers.
type world struct {
	t       testing.TB
	store   *store.Store
	tenant  uuid.UUID
	keys    fixedKeys
	network network
	client  *webhook.Client
}

func newWorld(t testing.TB, s *store.Store) *world {
	w := &world{t: t, store: s, network: network{}}
	w.client = webhook.NewClientOver(w.network, webhook.AttemptTimeout)
	w.tenant = w.newTenant()
	return w
}

// bubble runs a test on SQLite in its own time, where waits take none. The sockets of
// PostgreSQL and of receivers would let time stand still.
func bubble(t *testing.T, test func(t *testing.T, w *world)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, newWorld(t, dbtest.Open(t, dbtest.SQLite(t)))) })
}

// receives returns a new receiver in the network. Call it before dispatchers start.
func (w *world) receives(answer func(n int, w http.ResponseWriter, r *http.Request)) *receiver {
	host := fmt.Sprintf("shop%d.example", len(w.network))
	w.network[host] = &receiver{t: w.t, url: "https://" + host, answer: answer}
	return w.network[host]
}

func (w *world) newTenant() uuid.UUID {
	created := tenant.Tenant{ID: uuid.Must(uuid.NewV7()), Name: "shop", CreatedAt: time.Now().UTC()}
	act := audit.Act{Scope: audit.OfTenant(created.ID), At: created.CreatedAt, Actor: audit.System("test"),
		Action: audit.TenantCreate}
	if err := w.store.CreateTenant(context.Background(), created, nil, nil, act); err != nil {
		w.t.Fatal(err)
	}
	return created.ID
}

// start runs a dispatcher, and returns it with the function that stops it and waits
// for its end.
func (w *world) start() (*webhook.Dispatcher, func()) {
	d := webhook.NewDispatcher(w.store, &w.keys, w.client, webhook.Config{
		Live: schedule, Test: schedule, Logger: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Run(ctx)
	}()
	return d, func() {
		cancel()
		<-done
	}
}

func (w *world) insert(tenantID uuid.UUID, url string) webhook.Event {
	event, err := webhook.NewEvent(webhook.Completion{
		TenantID: tenantID, SessionID: uuid.New(), Result: webhook.ResultVerified, CompletedAt: time.Now(), Destination: url,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx := context.Background()
	if err := w.store.Update(ctx, func(tx *store.Tx) error { return tx.InsertEvent(event) }); err != nil {
		w.t.Fatal(err)
	}
	return event
}

// eventually waits for the event to reach a status.
func (w *world) eventually(id string, want ...webhook.Status) (webhook.Record, []webhook.Attempt) {
	w.t.Helper()
	for deadline := time.Now().Add(hangLimit); ; time.Sleep(time.Second / 2) {
		record, attempts, err := w.store.EventByID(context.Background(), webhook.OfAll(), id)
		if err == nil && slices.Contains(want, record.Status) {
			return record, attempts
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("status %q after %s, want %q (%v), attempts %+v", record.Status, hangLimit, want, err, attempts)
		}
	}
}
