//go:build linux

package chaos

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"
)

// client sends requests to gateways like a merchant's backend and a shopper's
// browser. It follows no redirect and keeps no cookies.
type client struct {
	http *http.Client
}

func newClient() *client {
	return &client{&http.Client{
		Timeout:       30 * time.Second,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 100},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// reply is the result of one request.
type reply struct {
	status int // 0 without an answer
	body   string
	sent   time.Time // when the request began
	wrote  time.Time // when the request had been sent; zero if it never was
	took   time.Duration
}

// do makes one request. header contains names and values alternately.
func (c *client) do(method, url, body string, header ...string) reply {
	r := reply{sent: time.Now()}
	var mu sync.Mutex // protects wrote: a request is written while another goroutine waits for its answer
	var wrote time.Time
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			mu.Lock()
			defer mu.Unlock()
			if wrote = (time.Time{}); info.Err == nil {
				wrote = time.Now()
			}
		},
	})
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return r
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := c.http.Do(req)
	if err == nil {
		var data []byte
		data, err = io.ReadAll(res.Body)
		res.Body.Close()
		r.body = string(data)
	}
	r.took = time.Since(r.sent)
	if err == nil {
		r.status = res.StatusCode
	}
	mu.Lock()
	defer mu.Unlock()
	r.wrote = wrote
	return r
}

// session is an acknowledged creation.
type session struct {
	id   string
	key  string // of its tenant
	path string // of its verification page
}

// create creates a session, or repeats an earlier try under the same idempotency
// key. ok says whether the creation was acknowledged.
func (c *client) create(gateway, key, idempotencyKey string) (s session, r reply, ok bool) {
	r = c.do(http.MethodPost, gateway+"/api/v1/sessions/create", `{"target_age":18}`,
		"X-API-Key", key, "Content-Type", "application/json", "Idempotency-Key", idempotencyKey)
	var made struct {
		SessionID       string `json:"session_id"`
		VerificationURL string `json:"verification_url"`
	}
	if r.status != http.StatusCreated || json.Unmarshal([]byte(r.body), &made) != nil {
		return s, r, false
	}
	_, path, _ := strings.Cut(strings.TrimPrefix(made.VerificationURL, "http://"), "/")
	return session{made.SessionID, key, "/" + path}, r, true
}

// outcomes maps the values of force to the statuses that they lead to.
var outcomes = map[string]string{"verified": "PASSED", "fallback": "FALLBACK", "spoof": "SPOOF"}

// ended stands for the end of a session whose page does not show this browser how
// it ended.
const ended = "ended"

// force opens a session's page with a forced outcome and returns the status
// shown in the answer, or "".
func (c *client) force(gateway string, s session, outcome string) (string, reply) {
	r := c.do(http.MethodGet, gateway+s.path+"?force="+outcome, "")
	switch {
	case r.status == http.StatusSeeOther:
		return "PASSED", r
	case r.status != http.StatusOK:
		return "", r
	case strings.Contains(r.body, `"screen-fallback"`):
		return "FALLBACK", r
	case strings.Contains(r.body, `"screen-spoof"`):
		return "SPOOF", r
	case strings.Contains(r.body, `"notice-completed"`):
		return ended, r
	default:
		return "", r
	}
}

// status looks up a session; it returns "" without an answer.
func (c *client) status(gateway string, s session) (string, reply) {
	r := c.do(http.MethodGet, gateway+"/api/v1/sessions/"+s.id+"/status", "", "X-API-Key", s.key)
	var told struct {
		Status string `json:"status"`
	}
	if r.status != http.StatusOK || json.Unmarshal([]byte(r.body), &told) != nil {
		return "", r
	}
	return told.Status, r
}
