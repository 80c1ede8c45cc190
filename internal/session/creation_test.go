package session

import (
	"context"
	"testing"

	"agegate/internal/gather"
)

// lateStore is asked after the request's time is over.
type lateStore struct{ Store }

func (lateStore) UpdateSessions(ctx context.Context, _ func(Tx) error) error { return ctx.Err() }

// TestNotWrittenInTime: a creation that could not be written with others, and
// whose time is over, is not reported as written.
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
