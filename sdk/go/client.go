// Package agegate is the client of the API of an agegate gateway, for a
// merchant's backend: it creates sessions, looks up how they ended, and verifies
// redirects and webhooks. It needs nothing but the standard library.
package agegate

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Limits of a call.
const (
	callTimeout = 15 * time.Second
	maxAnswer   = 1 << 20 // bytes
)

// Client calls the API with a key. It is safe for concurrent use.
type Client struct {
	baseURL, apiKey string
	http            *http.Client
}

// New returns a client of the gateway at baseURL, such as
// https://age.example.com, with an API key (svc_test_… or svc_live_…). A call
// takes at most 15 seconds, and fewer if its context ends.
func New(baseURL, apiKey string) (*Client, error) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("agegate: the address must be an absolute http or https URL")
	}
	if !strings.HasPrefix(apiKey, "svc_test_") && !strings.HasPrefix(apiKey, "svc_live_") {
		return nil, errors.New("agegate: the API key must be svc_test_… or svc_live_…")
	}
	// A redirect would take the key to another address.
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{strings.TrimRight(baseURL, "/"), apiKey, &http.Client{Timeout: callTimeout, CheckRedirect: noRedirect}},
		nil
}

// Error is a refusal by the gateway.
type Error struct {
	Status     int         // of HTTP
	Detail     string      // what went wrong, for people
	Code       string      // for programs, where the answer has one
	Violations []Violation // of a request that is refused with 422
	RequestID  string      // names the request in the gateway's log and on the dashboard's page "Rejected requests"
	RetryAfter time.Duration
	Help       string // the address of the page that explains it, where the answer names one
}

// Error returns the status, the detail, the request's ID and where help is, which repeat nothing of the request.
func (e *Error) Error() string {
	text := fmt.Sprintf("agegate: %d %s", e.Status, e.Detail)
	if e.RequestID != "" {
		text += " (request " + e.RequestID + ")"
	}
	if e.Help != "" {
		text += ", see " + e.Help
	}
	return text
}

// call sends a request and decodes a 2xx answer into out. Any other answer is an
// *Error.
func (c *Client) call(
	ctx context.Context, method, path string, query url.Values, header http.Header, body, out any,
) error {
	var sent io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("agegate: %w", err)
		}
		sent = bytes.NewReader(data)
	}
	address := c.baseURL + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, address, sent)
	if err != nil {
		return fmt.Errorf("agegate: %w", err)
	}
	for name := range header {
		req.Header.Set(name, header.Get(name))
	}
	req.Header.Set("X-API-Key", c.apiKey)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("agegate: %w", err)
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("agegate: %w", err)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return newError(res, data)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("agegate: the answer is not as the contract describes it: %w", err)
	}
	return nil
}

// newError reads a refusal. One that is not the gateway's own, such as a
// proxy's, has the text of its status as detail.
func newError(res *http.Response, data []byte) *Error {
	e := &Error{Status: res.StatusCode, Detail: http.StatusText(res.StatusCode), RequestID: res.Header.Get("X-Request-ID")}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	if link, _, ok := strings.Cut(res.Header.Get("Link"), `>; rel="help"`); ok {
		if help, err := res.Request.URL.Parse(link[strings.LastIndex(link, "<")+1:]); err == nil {
			e.Help = help.String()
		}
	}
	var body struct {
		Detail json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(data, &body) != nil {
		return e
	}
	var coded struct{ Code, Message string }
	var violations []Violation
	switch {
	case json.Unmarshal(body.Detail, &e.Detail) == nil:
	case json.Unmarshal(body.Detail, &coded) == nil:
		e.Code, e.Detail = coded.Code, coded.Message
	case json.Unmarshal(body.Detail, &violations) == nil:
		e.Violations = violations
		var all []string
		for _, v := range violations {
			place := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(v.Loc)), "."), "[]")
			all = append(all, v.Type+" at "+place)
		}
		e.Detail = strings.Join(all, ", ")
	}
	return e
}

// NewIdempotencyKey returns a random key for CreateSessionParams: one for each
// session that you want, the same when you repeat its request.
func NewIdempotencyKey() string {
	key := make([]byte, 16)
	_, _ = rand.Read(key) // never fails on the systems that Go supports
	return hex.EncodeToString(key)
}
