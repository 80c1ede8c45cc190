package session

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"agegate/internal/rules/fault"
	"agegate/internal/rules/gather"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// noShops are tenants without settings.
type noShops struct{ Tenants }

func (noShops) RecentTerms(context.Context, uuid.UUID) (tenant.Terms, error) {
	return tenant.Terms{}, nil
}

func (noShops) Terms(context.Context, uuid.UUID) (tenant.Terms, error) { return tenant.Terms{}, nil }

// newCreator returns a service that writes creations together with write.
func newCreator(
	store Store, logger *slog.Logger, write func(context.Context, line, []creation) (bool, error),
) *Service {
	s := NewService(Config{Logger: logger}, store, noShops{}, nil, rand.Reader, time.Now, nil)
	s.creations = gather.New(maxTogether, write)
	return s
}

// someRequest is a request that needs no settings.
var someRequest = CreateRequest{TargetAge: 18, TestReturnURL: "https://shop.example/"}

// lateStore is a store that is called only after the request's deadline.
type lateStore struct{ Store }

func (lateStore) OrdersLinks() bool { return false }

func (lateStore) UpdateSessions(ctx context.Context, _ func(Tx) error) error { return ctx.Err() }

// TestNotWrittenInTime: a creation that could not be written with others before
// its deadline is not reported as written.
func TestNotWrittenInTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newCreator(lateStore{}, nil, func(context.Context, line, []creation) (bool, error) {
		cancel()
		return false, nil
	})
	if _, err := s.Create(ctx, tenant.Caller{}, someRequest); err == nil {
		t.Error("no error, and nothing was written")
	}
}

// aloneStore writes one creation at a time.
type aloneStore struct {
	Store
	written int
}

func (*aloneStore) OrdersLinks() bool { return false }

func (s *aloneStore) UpdateSessions(context.Context, func(Tx) error) error {
	s.written++
	return nil
}

// TestWrittenAloneAfterAPanic: a creation is written even if the transaction that
// it shared with others panicked. The panic is logged without its value.
func TestWrittenAloneAfterAPanic(t *testing.T) {
	var log bytes.Buffer
	store := &aloneStore{}
	s := newCreator(store, slog.New(slog.NewTextHandler(&log, nil)),
		func(context.Context, line, []creation) (_ bool, err error) {
			defer func() { err = fault.Recovered(recover()) }() // as for calls that waited
			panic(errors.New("an input"))
		})
	if _, err := s.Create(t.Context(), tenant.Caller{}, someRequest); err != nil || store.written != 1 {
		t.Errorf("%d written, %v", store.written, err)
	}
	if text := log.String(); !strings.Contains(text, "panic: *errors.errorString") ||
		!strings.Contains(text, "TestWrittenAloneAfterAPanic") || strings.Contains(text, "an input") {
		t.Errorf("the log says %s", text)
	}
}
