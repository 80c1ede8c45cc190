package webhook_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"agegate/internal/lab/verify"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"
)

// hangLimit bounds the waits of a test, and the attempts that will be answered.
const hangLimit = 2 * time.Minute

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

// receiver records every POST that verifies, and answers as configured.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	posts []post
}

// newReceiver starts a receiver; answer receives the number of the POST, from 0.
func newReceiver(t testing.TB, answer func(n int, w http.ResponseWriter, r *http.Request)) *receiver {
	r := new(receiver)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		if report := verify.Webhook(signingKey, req.Header, body, time.Now()); !report.Valid {
			t.Errorf("a delivery does not verify: %+v", report.Findings)
		}
		r.mu.Lock()
		n := len(r.posts)
		r.posts = append(r.posts, post{req.Header.Get("webhook-id"), string(body)})
		r.mu.Unlock()
		answer(n, w, req)
	}))
	return r
}

func (r *receiver) seen() []post {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]post(nil), r.posts...)
}

func status(code int) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// quick is a schedule of three attempts that a test can wait for.
var quick = webhook.Schedule{10 * time.Millisecond, 20 * time.Millisecond}

// world is a store and a tenant, for which a test starts dispatchers.
type world struct {
	t      testing.TB
	store  *store.Store
	tenant uuid.UUID
	keys   fixedKeys
}

func newWorld(t testing.TB, s *store.Store) *world {
	w := &world{t: t, store: s}
	w.tenant = w.newTenant()
	return w
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

// start runs a dispatcher whose attempts end after timeout, and returns it with
// the function that stops it and waits for its end.
func (w *world) start(schedule webhook.Schedule, timeout, drain time.Duration) (*webhook.Dispatcher, func()) {
	d := webhook.NewDispatcher(w.store, &w.keys, webhook.NewLocalClient(timeout), webhook.Config{
		Live: schedule, Test: schedule, Logger: slog.New(slog.DiscardHandler),
	})
	d.Hurry(10*time.Millisecond, drain, 100*time.Millisecond)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Run(ctx)
	}()
	return d, func() {
		cancel()
		arrives(w.t, done, "the dispatcher's end")
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

// arrives waits until c delivers a value or is closed.
func arrives[T any](t testing.TB, c <-chan T, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(hangLimit):
		t.Fatalf("%s did not come within %s", what, hangLimit)
	}
}

// eventually waits for the event to reach a status.
func (w *world) eventually(id string, want webhook.Status) (webhook.Record, []webhook.Attempt) {
	w.t.Helper()
	deadline := time.Now().Add(hangLimit)
	for {
		record, attempts, err := w.store.EventByID(context.Background(), webhook.OfAll(), id)
		if err == nil && record.Status == want {
			return record, attempts
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("status %q after %s, want %q (%v), attempts %+v", record.Status, hangLimit, want, err, attempts)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestDispatcherOutcomes(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, s *store.Store) {
		for name, tc := range map[string]struct {
			answer func(int, http.ResponseWriter, *http.Request)
			want   webhook.Status
			posts  int
			class  webhook.Class
		}{
			"accepted": {status(200), webhook.StatusDelivered, 1, webhook.ClassDelivered},
			"refused":  {status(500), webhook.StatusFailed, 3, webhook.ClassStatus},
			"redirect": {status(302), webhook.StatusFailed, 3, webhook.ClassRedirect},
			"gone":     {status(410), webhook.StatusWaiting, 1, webhook.ClassStatus},
			"recovers": {func(n int, w http.ResponseWriter, _ *http.Request) {
				if n < 2 {
					w.WriteHeader(503)
				}
			}, webhook.StatusDelivered, 3, webhook.ClassDelivered},
		} {
			t.Run(name, func(t *testing.T) {
				w := newWorld(t, s)
				r := newReceiver(t, tc.answer)
				defer r.Close()
				d, stop := w.start(quick, hangLimit, 5*time.Second)
				defer stop()
				event := w.insert(w.tenant, r.URL)
				d.Wake()
				record, attempts := w.eventually(event.ID, tc.want)
				posts := r.seen()
				if len(posts) != tc.posts || len(attempts) != tc.posts || record.LastClass != tc.class {
					t.Fatalf("%d posts, attempts %+v", len(posts), attempts)
				}
				for _, p := range posts {
					if p.id != event.ID || p.body != string(event.Body) {
						t.Fatalf("posted %+v, want %s", p, event.ID)
					}
				}
			})
		}
	})
}

// An attempt at a receiver that does not answer is given up each time, whether or
// not the request was received.
func TestDispatcherGivesUp(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		r := newReceiver(t, func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		defer r.Close()
		_, stop := w.start(quick, 300*time.Millisecond, time.Second)
		defer stop()
		event := w.insert(w.tenant, r.URL)
		if record, attempts := w.eventually(event.ID, webhook.StatusFailed); len(attempts) != 3 ||
			record.LastClass != webhook.ClassTimeout {
			t.Fatalf("attempts %+v", attempts)
		}
	})
}

// At most eight attempts of the hanging tenant run at a time, and another
// tenant is served meanwhile.
func TestDispatcherCapsEachTenant(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		var now, most atomic.Int32
		release := make(chan struct{})
		hanging := newReceiver(t, func(int, http.ResponseWriter, *http.Request) {
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			<-release
			now.Add(-1)
		})
		defer hanging.Close()
		fine := newReceiver(t, status(200))
		defer fine.Close()
		var queued []webhook.Event
		for range 20 {
			queued = append(queued, w.insert(w.tenant, hanging.URL))
		}
		_, stop := w.start(quick, hangLimit, hangLimit)
		defer stop()
		for limit := time.Now().Add(hangLimit); now.Load() < 8 && time.Now().Before(limit); {
			time.Sleep(time.Millisecond)
		}
		other := w.insert(w.newTenant(), fine.URL)
		w.eventually(other.ID, webhook.StatusDelivered)
		close(release)
		for _, e := range queued {
			if _, attempts := w.eventually(e.ID, webhook.StatusDelivered); len(attempts) != 1 {
				t.Fatalf("%+v", attempts)
			}
		}
		if n := most.Load(); n != 8 {
			t.Fatalf("%d attempts of one tenant at once", n)
		}
	})
}

// A shutdown that cannot wait returns the delivery: the next dispatcher sends it
// at once, not only when the lease ends.
func TestDispatcherLeavesNoLease(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		arrived := make(chan struct{}, 1)
		r := newReceiver(t, func(n int, _ http.ResponseWriter, r *http.Request) {
			if n == 0 {
				arrived <- struct{}{}
				<-r.Context().Done()
			}
		})
		defer r.Close()
		_, stop := w.start(quick, hangLimit, time.Millisecond)
		event := w.insert(w.tenant, r.URL)
		arrives(t, arrived, "the attempt")
		stop()
		record, _, err := s.EventByID(t.Context(), webhook.OfAll(), event.ID)
		if err != nil || record.NextAttemptAt == nil || record.NextAttemptAt.After(time.Now().Add(time.Second)) {
			t.Fatalf("after the shutdown: %+v, %v", record, err)
		}
		_, stop = w.start(quick, hangLimit, time.Second)
		defer stop()
		w.eventually(event.ID, webhook.StatusDelivered)
	})
}

// Receivers of many tenants hang, with more deliveries than slots, and one
// hangs every other time. Tenants whose receivers answer are still served.
func TestDispatcherManyHang(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		release := make(chan struct{})
		var requests atomic.Int32
		hanging := newReceiver(t, func(int, http.ResponseWriter, *http.Request) { <-release })
		defer hanging.Close()
		half := newReceiver(t, func(int, http.ResponseWriter, *http.Request) {
			if requests.Add(1)%2 == 0 {
				<-release
			}
		})
		defer half.Close()
		defer close(release)
		fine := newReceiver(t, status(200))
		defer fine.Close()
		for range 20 {
			a, b := w.newTenant(), w.newTenant()
			for range 12 {
				w.insert(a, hanging.URL)
				w.insert(b, half.URL)
			}
		}
		d, stop := w.start(quick, hangLimit, time.Millisecond)
		defer stop()
		known := w.newTenant()
		for n := range 30 {
			tenant := known
			if n%2 == 0 {
				tenant = w.newTenant()
			}
			event := w.insert(tenant, fine.URL)
			d.Wake()
			w.eventually(event.ID, webhook.StatusDelivered)
		}
	})
}

// Whatever a receiver answers and however often dispatchers stop, an event ends
// up delivered or failed, always with the same ID and body.
func TestDispatcherAtLeastOnceProperty(t *testing.T) {
	s := dbtest.Open(t, "sqlite:"+filepath.Join(t.TempDir(), "agegate.db"))
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, s)
		answers := rapid.SliceOfN(rapid.SampledFrom([]int{200, 204, 302, 429, 500}), 3, 12).Draw(rt, "answers")
		r := newReceiver(t, func(n int, res http.ResponseWriter, _ *http.Request) { res.WriteHeader(answers[n%len(answers)]) })
		defer r.Close()
		events := map[string]webhook.Event{}
		for range rapid.IntRange(1, 5).Draw(rt, "events") {
			e := w.insert(w.tenant, r.URL)
			events[e.ID] = e
		}
		for range rapid.IntRange(0, 3).Draw(rt, "restarts") {
			_, stop := w.start(quick, hangLimit, time.Duration(rapid.IntRange(0, 5).Draw(rt, "drain"))*time.Millisecond)
			stop()
		}
		_, stop := w.start(quick, hangLimit, time.Second)
		defer stop()
		times := map[string]int{}
		limit := time.Now().Add(hangLimit)
		for id := range events {
			for ended := false; !ended; time.Sleep(2 * time.Millisecond) {
				if time.Now().After(limit) {
					rt.Fatalf("%s has not ended after %s", id, hangLimit)
				}
				record, _, err := s.EventByID(context.Background(), webhook.OfAll(), id)
				if err != nil {
					rt.Fatal(err)
				}
				ended = record.Status == webhook.StatusDelivered || record.Status == webhook.StatusFailed
			}
		}
		for _, p := range r.seen() {
			if p.body != string(events[p.id].Body) {
				rt.Fatalf("id or body changed: %+v", p)
			}
			times[p.id]++
		}
		for id := range events {
			if times[id] == 0 {
				rt.Fatalf("%s was never sent", id)
			}
		}
	})
}

// If the gateway cannot sign, that is not an attempt and does not count against
// the endpoint.
func TestDispatcherWithoutKeysTriesLater(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		r := newReceiver(t, status(200))
		defer r.Close()
		const failures = 1000 // more attempts than the test has time for
		w.keys.failures.Store(failures)
		event := w.insert(w.tenant, r.URL)
		_, stop := w.start(quick, hangLimit, time.Second)
		for limit := time.Now().Add(hangLimit); w.keys.failures.Load() == failures; {
			if time.Now().After(limit) {
				t.Fatalf("no attempt to sign within %s", hangLimit)
			}
			time.Sleep(time.Millisecond)
		}
		stop()
		record, attempts, err := s.EventByID(t.Context(), webhook.OfAll(), event.ID)
		if err != nil || len(attempts) != 0 || record.Attempts != 0 || record.Status != webhook.StatusPending ||
			len(r.seen()) != 0 {
			t.Fatalf("%+v, %+v, %v", record, attempts, err)
		}
		if endpoints, err := s.Endpoints(t.Context(), webhook.OfAll()); err != nil || len(endpoints) != 0 {
			t.Fatalf("%+v, %v", endpoints, err)
		}
	})
}

// TestDispatcherSurvivesAPanic: a fault in one attempt ends neither the process
// nor the attempts of other events.
func TestDispatcherSurvivesAPanic(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		shop := newReceiver(t, status(200))
		defer shop.Close()
		w.keys.panics.Store(1)
		first := w.insert(w.tenant, shop.URL)
		_, stop := w.start(quick, hangLimit, time.Second)
		defer stop()
		for limit := time.Now().Add(hangLimit); w.keys.panics.Load() > 0; {
			if time.Now().After(limit) {
				t.Fatal("no attempt was made")
			}
			time.Sleep(5 * time.Millisecond)
		}
		w.eventually(w.insert(w.newTenant(), shop.URL).ID, webhook.StatusDelivered)
		if record, _, err := s.EventByID(t.Context(), webhook.OfAll(), first.ID); err != nil ||
			record.Status != webhook.StatusPending {
			t.Errorf("the first event is %q (%v), want it pending until its lease ends", record.Status, err)
		}
	})
}
