package webhook_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"agegate/internal/rules/webhook"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"
)

// TestDispatcherOutcomes takes real time, for real receivers and databases.
func TestDispatcherOutcomes(t *testing.T) {
	t.Parallel()
	type outcome struct {
		answer func(int, http.ResponseWriter, *http.Request)
		want   webhook.Status
		posts  int
		class  webhook.Class
	}
	dbtest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		w.client = webhook.NewLocalClient(hangLimit)
		_, stop := w.start()
		defer stop()
		for name, tc := range map[string]outcome{
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
			r := &receiver{t: t, answer: tc.answer}
			server := httptest.NewServer(r)
			defer server.Close()
			event := w.insert(w.newTenant(), server.URL)
			defer func() {
				record, attempts := w.eventually(event.ID, tc.want)
				posts := r.seen()
				if len(posts) != tc.posts || len(attempts) != tc.posts || record.LastClass != tc.class {
					t.Errorf("%s: %d posts, attempts %+v", name, len(posts), attempts)
				}
				for _, p := range posts {
					if p.id != event.ID || p.body != string(event.Body) {
						t.Errorf("%s: posted %+v, want %s", name, p, event.ID)
					}
				}
			}()
		}
	})
}

// An attempt at a receiver that does not answer is given up each time, whether or
// not the request was received.
func TestDispatcherGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		r := w.receives(func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		event := w.insert(w.tenant, r.url)
		_, stop := w.start()
		defer stop()
		record, attempts := w.eventually(event.ID, webhook.StatusFailed)
		if len(attempts) != 3 || record.LastClass != webhook.ClassTimeout {
			t.Fatalf("attempts %+v", attempts)
		}
		for _, a := range attempts {
			if a.Latency != webhook.AttemptTimeout {
				t.Errorf("given up after %s", a.Latency)
			}
		}
	})
}

// At most eight attempts of the hanging tenant run at a time, and another
// tenant is served meanwhile.
func TestDispatcherCapsEachTenant(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var now, most atomic.Int32
		release := make(chan struct{})
		hanging := w.receives(func(int, http.ResponseWriter, *http.Request) {
			most.Store(max(most.Load(), now.Add(1))) // the requests begin one after another
			<-release
			now.Add(-1)
		})
		fine := w.receives(status(200))
		var queued []webhook.Event
		for range 20 {
			queued = append(queued, w.insert(w.tenant, hanging.url))
		}
		_, stop := w.start()
		defer stop()
		time.Sleep(webhook.AttemptTimeout / 2)
		if n := now.Load(); n != 8 {
			t.Errorf("%d attempts run", n)
		}
		other := w.insert(w.newTenant(), fine.url)
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
	bubble(t, func(t *testing.T, w *world) {
		w.client = webhook.NewClientOver(w.network, hangLimit)
		r := w.receives(func(n int, _ http.ResponseWriter, r *http.Request) {
			if n == 0 {
				<-r.Context().Done()
			}
		})
		event := w.insert(w.tenant, r.url)
		_, stop := w.start()
		time.Sleep(time.Second)
		stop()
		record, _, err := w.store.EventByID(t.Context(), webhook.OfAll(), event.ID)
		if err != nil || len(r.seen()) != 1 || record.NextAttemptAt == nil || record.NextAttemptAt.After(time.Now()) {
			t.Fatalf("after the shutdown: %+v, %v", record, err)
		}
		_, stop = w.start()
		defer stop()
		w.eventually(event.ID, webhook.StatusDelivered)
	})
}

// Receivers of many tenants hang, with more deliveries than slots, and one
// hangs every other time. Tenants whose receivers answer are still served.
func TestDispatcherManyHang(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		hang := func(r *http.Request) { <-r.Context().Done() }
		hanging := w.receives(func(_ int, _ http.ResponseWriter, r *http.Request) { hang(r) })
		half := w.receives(func(n int, _ http.ResponseWriter, r *http.Request) {
			if n%2 != 0 {
				hang(r)
			}
		})
		fine := w.receives(status(200))
		for range 20 {
			a, b := w.newTenant(), w.newTenant()
			for range 12 {
				w.insert(a, hanging.url)
				w.insert(b, half.url)
			}
		}
		d, stop := w.start()
		defer stop()
		known := w.newTenant()
		for n := range 30 {
			tenant := known
			if n%2 == 0 {
				tenant = w.newTenant()
			}
			began := time.Now()
			event := w.insert(tenant, fine.url)
			d.Wake()
			w.eventually(event.ID, webhook.StatusDelivered)
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("delivery %d took %s", n, took)
			}
		}
	})
}

// Whatever a receiver answers and however often dispatchers stop, an event ends
// up delivered or failed, always with the same ID and body.
func TestDispatcherAtLeastOnceProperty(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := dbtest.Open(t, dbtest.SQLite(t))
		// rapid would ask a *testing.T for the deadline, which is not of this time
		rapid.Check(struct{ *testing.T }{t}, func(rt *rapid.T) {
			w := newWorld(t, s)
			w.client = webhook.NewClientOver(w.network, hangLimit)
			answers := rapid.SliceOfN(rapid.SampledFrom([]int{200, 204, 302, 429, 500}), 3, 12).Draw(rt, "answers")
			late := rapid.SliceOfN(rapid.IntRange(0, 30), 3, 12).Draw(rt, "seconds")
			r := w.receives(func(n int, res http.ResponseWriter, r *http.Request) {
				select {
				case <-time.After(time.Duration(late[n%len(late)]) * time.Second):
				case <-r.Context().Done():
				}
				res.WriteHeader(answers[n%len(answers)])
			})
			events := map[string]webhook.Event{}
			for range rapid.IntRange(1, 5).Draw(rt, "events") {
				e := w.insert(w.tenant, r.url)
				events[e.ID] = e
			}
			for range rapid.IntRange(0, 3).Draw(rt, "restarts") {
				_, stop := w.start()
				time.Sleep(time.Duration(rapid.IntRange(0, 40).Draw(rt, "runs for")) * time.Second)
				stop()
			}
			_, stop := w.start()
			defer stop()
			for id := range events {
				w.eventually(id, webhook.StatusDelivered, webhook.StatusFailed)
			}
			times := map[string]int{}
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
	})
}

// If the gateway cannot sign, that is not an attempt and does not count against
// the endpoint.
func TestDispatcherWithoutKeysTriesLater(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		r := w.receives(status(200))
		const failures = 1000 // more attempts than the test has time for
		w.keys.failures.Store(failures)
		event := w.insert(w.tenant, r.url)
		_, stop := w.start()
		time.Sleep(time.Minute)
		stop()
		if tried := failures - w.keys.failures.Load(); tried < 5 || tried > 12 {
			t.Errorf("%d attempts to sign in a minute", tried)
		}
		record, attempts, err := w.store.EventByID(t.Context(), webhook.OfAll(), event.ID)
		if err != nil || len(attempts) != 0 || record.Attempts != 0 || record.Status != webhook.StatusPending ||
			len(r.seen()) != 0 {
			t.Fatalf("%+v, %+v, %v", record, attempts, err)
		}
		if endpoints, err := w.store.Endpoints(t.Context(), webhook.OfAll()); err != nil || len(endpoints) != 0 {
			t.Fatalf("%+v, %v", endpoints, err)
		}
	})
}

// TestDispatcherSurvivesAPanic: a fault in one attempt ends neither the process
// nor the attempts of other events.
func TestDispatcherSurvivesAPanic(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		shop := w.receives(status(200))
		w.keys.panics.Store(1)
		first := w.insert(w.tenant, shop.url)
		_, stop := w.start()
		defer stop()
		time.Sleep(time.Second)
		if w.keys.panics.Load() > 0 {
			t.Fatal("no attempt was made")
		}
		w.eventually(w.insert(w.newTenant(), shop.url).ID, webhook.StatusDelivered)
		if record, _, err := w.store.EventByID(t.Context(), webhook.OfAll(), first.ID); err != nil ||
			record.Status != webhook.StatusPending {
			t.Errorf("the first event is %q (%v), want it pending until its lease ends", record.Status, err)
		}
	})
}
