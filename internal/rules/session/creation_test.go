package session

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"agegate/internal/rules/fault"
	"agegate/internal/rules/gather"
)

// lateStore is a store that is called only after the request's deadline.
type lateStore struct{ Store }

func (lateStore) UpdateSessions(ctx context.Context, _ func(Tx) error) error { return ctx.Err() }

// TestNotWrittenInTime: a creation that could not be written with others before
// its deadline is not reported as written.
func TestNotWrittenInTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &Service{store: lateStore{}}
	s.creations = gather.New(maxTogether, func(context.Context, line, []creation) (bool, error) {
		cancel()
		return false, nil
	})
	if _, err := s.write(ctx, creation{}); err == nil {
		t.Error("no error, and nothing was written")
	}
}

// aloneStore writes one creation at a time.
type aloneStore struct {
	Store
	written int
}

func (s *aloneStore) UpdateSessions(context.Context, func(Tx) error) error {
	s.written++
	return nil
}

// TestWrittenAloneAfterAPanic: a creation is written even if the transaction that
// it shared with others panicked. The panic is logged without its value.
func TestWrittenAloneAfterAPanic(t *testing.T) {
	var log bytes.Buffer
	store := &aloneStore{}
	s := &Service{store: store, cfg: Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}}
	s.creations = gather.New(maxTogether, func(context.Context, line, []creation) (_ bool, err error) {
		defer func() { err = fault.Recovered(recover()) }() // as for calls that waited
		panic(errors.New("an input"))
	})
	if _, err := s.write(t.Context(), creation{}); err != nil || store.written != 1 {
		t.Errorf("%d written, %v", store.written, err)
	}
	if text := log.String(); !strings.Contains(text, "panic: *errors.errorString") || !strings.Contains(text, "TestWrittenAloneAfterAPanic") || strings.Contains(text, "an input") {
		t.Errorf("the log says %s", text)
	}
}
