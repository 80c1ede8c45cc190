package gatewaytest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// Delivery is one webhook request as the receiver got it.
type Delivery struct {
	Header http.Header
	Body   []byte
}

// Receiver is a merchant's webhook receiver on this machine.
type Receiver struct {
	URL string

	mu     sync.Mutex
	got    []Delivery
	answer int
	more   chan struct{}
}

// NewReceiver starts a receiver that answers 204.
func NewReceiver(t testing.TB) *Receiver {
	r := &Receiver{answer: http.StatusNoContent, more: make(chan struct{}, 1000)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		r.mu.Lock()
		r.got = append(r.got, Delivery{req.Header.Clone(), body})
		status := r.answer
		r.mu.Unlock()
		w.WriteHeader(status)
		r.more <- struct{}{}
	}))
	t.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

// Answer sets the status of later answers.
func (r *Receiver) Answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = status
}

// Wait returns the first n deliveries. It fails the test if they do not arrive.
func (r *Receiver) Wait(t testing.TB, n int) []Delivery {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		r.mu.Lock()
		got := append([]Delivery(nil), r.got...)
		r.mu.Unlock()
		if len(got) >= n {
			return got
		}
		select {
		case <-r.more:
		case <-limit:
			t.Fatalf("%d deliveries came, want %d", len(got), n)
		}
	}
}
