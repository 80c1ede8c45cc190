package session_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"
)

// held is a store whose transactions wait until it is let go. It counts them.
type held struct {
	*store.Store
	letGo chan struct{}
	err   error // of every transaction, in place of running it

	mu  sync.Mutex
	ran int
}

func (h *held) UpdateSessions(ctx context.Context, fn func(session.Tx) error) error {
	h.mu.Lock()
	h.ran++
	h.mu.Unlock()
	<-h.letGo
	if h.err != nil {
		return h.err
	}
	return h.Store.UpdateSessions(ctx, fn)
}

// TestCreatedTogether: requests that arrive while a tenant's session is being written
// share the next transaction, and each gets its own answer. Requests with an
// idempotency key have their own transactions.
func TestCreatedTogether(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *store.Store) {
		h := &held{Store: db, letGo: make(chan struct{})}
		s := newShopsOver(t, db, h)
		owner := s.open(t, 3, 0, 1)
		wrong := "https://other.example/"
		answers := map[fault.Code]int{}
		var all, waiting sync.WaitGroup
		ask := func(ctx context.Context, req session.CreateRequest) {
			all.Go(func() {
				id, err := s.create(ctx, owner, true, req)
				h.mu.Lock()
				defer h.mu.Unlock()
				answers[fault.CodeOf(err)]++
				if _, readErr := db.SessionByID(t.Context(), owner, id); err == nil && readErr != nil {
					t.Errorf("the session %s was not written: %v", id, readErr)
				}
			})
		}
		ask(t.Context(), session.CreateRequest{})
		h.await(t, 1)
		for i := range 6 {
			waiting.Add(1)
			req := session.CreateRequest{}
			if i == 5 {
				req.SuccessURL = &wrong
			}
			ask(waited{t.Context(), sync.OnceFunc(waiting.Done)}, req)
		}
		waiting.Wait()
		close(h.letGo)
		all.Wait()
		if h.ran != 2 || answers[""] != 4 || answers[fault.InsufficientFunds] != 2 || answers[fault.Invalid] != 1 {
			t.Errorf("%d transactions, answers %v", h.ran, answers)
		}
		for _, key := range []string{"a", "b"} {
			if _, err := s.create(t.Context(), owner, true, session.CreateRequest{IdempotencyKey: key}); fault.CodeOf(err) !=
				fault.InsufficientFunds {
				t.Errorf("with a key: %v", err)
			}
			if _, err := s.sessions.ByIdempotencyKey(t.Context(), owner, true, key); fault.CodeOf(err) != fault.NotFound {
				t.Errorf("a refused request has kept its key: %v", err)
			}
		}
		if h.ran != 4 {
			t.Errorf("%d transactions", h.ran)
		}
	})
}

// waited is a context that tells when a caller begins to wait for its end.
type waited struct {
	context.Context
	begins func()
}

func (w waited) Done() <-chan struct{} {
	w.begins()
	return w.Context.Done()
}

// await waits until n transactions have begun.
func (h *held) await(t *testing.T, n int) {
	t.Helper()
	for range 10_000 {
		h.mu.Lock()
		ran := h.ran
		h.mu.Unlock()
		if ran == n {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("no transaction began")
}

// TestNotWritten: a creation whose transaction failed is not reported as written.
func TestNotWritten(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, dbtest.URLs(t)["sqlite"](t))
	h := &held{Store: db, letGo: make(chan struct{}), err: errors.New("down")}
	close(h.letGo)
	s := newShopsOver(t, db, h)
	owner := s.open(t, 3, 3, 0)
	for _, key := range []string{"", "a"} {
		made, err := s.sessions.Create(t.Context(), tenant.Caller{TenantID: owner}, session.CreateRequest{TargetAge: 18,
			IdempotencyKey: key})
		if !errors.Is(err, h.err) || made.SessionID != uuid.Nil {
			t.Errorf("%+v, %v", made, err)
		}
	}
}
