package conformance

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits of what a receiver stores, because others may be able to send to it.
const (
	maxDelivery   = 64 << 10
	maxDeliveries = 1000
)

// delivery is one webhook request as it was received.
type delivery struct {
	header http.Header
	body   []byte
	at     time.Time
	path   string
	answer int // the status that the receiver answered with
}

// event is the content of the body.
type event struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	SessionID string    `json:"session_id"`
	Status    string    `json:"status"`
	IsAdult   bool      `json:"is_adult"`
	Livemode  bool      `json:"livemode"`
}

func (d delivery) event() (e event) {
	_ = json.Unmarshal(d.body, &e) // the schema check reports a decoding error
	return e
}

// receiver is the merchant's webhook receiver.
type receiver struct {
	server *http.Server

	mu      sync.Mutex
	got     map[string][]delivery // by session
	total   int
	manners map[string]manner // for the next delivery of a session
	changed chan struct{}     // closed and replaced at every delivery
}

func newReceiver(l net.Listener) *receiver {
	r := &receiver{got: map[string][]delivery{}, manners: map[string]manner{}, changed: make(chan struct{})}
	r.server = &http.Server{Handler: r, ReadTimeout: 10 * time.Second, ReadHeaderTimeout: 3 * time.Second,
		WriteTimeout: 10*time.Second + noAnswer, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	go func() { _ = r.server.Serve(l) }() // ends when close is called
	return r
}

// onward is where a redirecting refusal leads.
const onward = "/agegate-conformance/onward"

// ServeHTTP records a delivery to any path. It answers 204, or in the manner
// set by treatFirst.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxDelivery))
	if err != nil || req.Method != http.MethodPost {
		http.Error(w, http.StatusText(http.StatusBadRequest), http.StatusBadRequest)
		return
	}
	m := r.record(delivery{header: req.Header.Clone(), body: body, at: time.Now(), path: req.URL.Path})
	select {
	case <-time.After(m.after):
	case <-req.Context().Done():
	}
	if m.status == 0 {
		panic(http.ErrAbortHandler) // closes the connection
	}
	if m.status < 400 {
		w.Header().Set("Location", onward)
	}
	if m.retryAfter != "" {
		w.Header().Set("Retry-After", m.retryAfter)
	}
	w.WriteHeader(m.status)
}

func (r *receiver) record(d delivery) manner {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := strings.ToLower(d.event().SessionID)
	m := manner{status: http.StatusNoContent}
	if first, ok := r.manners[id]; ok && d.path != onward {
		m = first
		if first.again--; first.again < 0 {
			delete(r.manners, id)
		} else {
			r.manners[id] = first
		}
	}
	d.answer = m.status
	if r.total < maxDeliveries {
		r.total++
		r.got[id] = append(r.got[id], d)
	}
	close(r.changed)
	r.changed = make(chan struct{})
	return m
}

// treatFirst makes the receiver treat the session's next delivery in a manner. A redirect
// status leads to onward.
func (r *receiver) treatFirst(id string, m manner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.manners[strings.ToLower(id)] = m
}

// of returns the deliveries for a session so far.
func (r *receiver) of(id string) []delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got[strings.ToLower(id)])
}

// await waits at most limit for n deliveries for a session, and returns those
// received, which may be fewer.
func (r *receiver) await(ctx context.Context, id string, n int, limit time.Duration) []delivery {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		r.mu.Lock()
		changed := r.changed
		r.mu.Unlock()
		if got := r.of(id); len(got) >= n || ctx.Err() != nil {
			return got
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}
