package document

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agegate/internal/check/document/wallet"
)

// A list that cannot be fetched is not fetched again for a while, and never
// counts as an answer. Only https addresses are fetched.
func TestStatusListsFail(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	var asked atomic.Int32
	lists := NewStatusLists(func(context.Context, string) ([]byte, error) {
		asked.Add(1)
		return []byte("x"), errors.New("nobody answers")
	}, func() time.Time { return now })
	ask := func(uri string, want int32) {
		t.Helper()
		revoked, err := lists.revoked(t.Context(), wallet.StatusEntry{URI: uri}, wallet.DocTypeMDL, nil)
		if err == nil || revoked {
			t.Errorf("%s: %t, %v", uri, revoked, err)
		}
		if asked.Load() != want {
			t.Errorf("%s: asked %d times, want %d", uri, asked.Load(), want)
		}
	}
	for _, uri := range []string{"", "http://issuer.example/1", "https:///1", "https://user@issuer.example/1",
		"file:///etc/passwd", "https://issuer.example/%zz"} {
		ask(uri, 0)
	}
	ask("https://issuer.example/1", 1)
	ask("https://issuer.example/1", 1)
	now = now.Add(statusRetry)
	ask("https://issuer.example/1", 2)
}

// Simultaneous callers share one fetch, and the memory is bounded.
func TestStatusListsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		release := make(chan struct{})
		lists := NewStatusLists(func(context.Context, string) ([]byte, error) {
			asked.Add(1)
			<-release
			return nil, errors.New("nobody answers")
		}, time.Now)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				_, _ = lists.revoked(t.Context(), wallet.StatusEntry{URI: "https://issuer.example/1"}, wallet.DocTypeMDL, nil)
			})
		}
		synctest.Wait() // all wait for the one fetch
		close(release)
		all.Wait()
		if asked.Load() != 1 {
			t.Errorf("%d fetches", asked.Load())
		}
		for n := range 3 * maxStatusLists {
			_, _ = lists.revoked(t.Context(), wallet.StatusEntry{URI: "https://issuer.example/" + string(rune('A'+n))},
				wallet.DocTypeMDL, nil)
		}
		if len(lists.kept) > maxStatusLists {
			t.Errorf("%d lists are kept", len(lists.kept))
		}
	})
}
