//go:build linux

package chaos

import (
	"crypto/sha256"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"
)

// post is one webhook request that the receiver got.
type post struct {
	event   string // webhook-id
	stamp   int64  // webhook-timestamp: when the gateway began the request; 0 if unreadable
	body    [sha256.Size]byte
	session string
	status  string
	at      time.Time
	ok      bool // the request was answered with 2xx
	left    bool // the sender gave up waiting for the answer
}

// receiver is a merchant's webhook receiver that remembers every request.
type receiver struct {
	url string

	mu    sync.Mutex
	posts []*post
}

// answer answers a request with a status, or causes a fault.
type answer func(w http.ResponseWriter, req *http.Request) (ok bool)

func accept(w http.ResponseWriter, _ *http.Request) bool {
	w.WriteHeader(http.StatusNoContent)
	return true
}

func refuse(w http.ResponseWriter, _ *http.Request) bool {
	w.WriteHeader(http.StatusInternalServerError)
	return false
}

// hang does not answer before the sender gives up.
func hang(_ http.ResponseWriter, req *http.Request) bool {
	<-req.Context().Done()
	return false
}

// reset breaks the connection.
func reset(w http.ResponseWriter, _ *http.Request) bool {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return false
	}
	_ = conn.(*net.TCPConn).SetLinger(0) // RST instead of FIN
	conn.Close()
	return false
}

// newReceiver starts a receiver. choose gets the number of earlier requests of
// the event.
func newReceiver(t *testing.T, choose func(before int) answer) *receiver {
	r := &receiver{}
	seen := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return // the sender was killed before it had sent everything
		}
		p := &post{event: req.Header.Get("webhook-id"), body: sha256.Sum256(body), at: time.Now()}
		p.stamp, _ = strconv.ParseInt(req.Header.Get("webhook-timestamp"), 10, 64)
		var payload struct {
			SessionID string `json:"session_id"`
			Status    string `json:"status"`
		}
		_ = json.Unmarshal(body, &payload) // unreadable: counts for a session that nobody created
		p.session, p.status = payload.SessionID, payload.Status
		r.mu.Lock()
		r.posts = append(r.posts, p)
		act := choose(seen[p.event])
		seen[p.event]++
		r.mu.Unlock()
		ok := act(w, req)
		r.mu.Lock()
		defer r.mu.Unlock()
		p.ok, p.left = ok, req.Context().Err() != nil
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	r.url = server.URL
	return r
}

// always gives every request the same answer.
func always(a answer) func(int) answer { return func(int) answer { return a } }

// all returns the requests so far.
func (r *receiver) all() []post {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]post, len(r.posts))
	for i, p := range r.posts {
		list[i] = *p
	}
	return list
}

// byEvent returns the requests received so far, by event, in order.
func (r *receiver) byEvent() map[string][]post {
	events := map[string][]post{}
	for _, p := range r.all() {
		events[p.event] = append(events[p.event], p)
	}
	return events
}
