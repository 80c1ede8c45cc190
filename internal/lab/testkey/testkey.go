// Package testkey uses a gateway from outside, with a test key alone.
package testkey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"agegate/gen/client"
	"agegate/internal/rules/session"

	"github.com/google/uuid"
)

// timeout is how long an answer of the gateway may take.
const timeout = 15 * time.Second

// ErrNotForced is returned for a result that the gateway does not force.
var ErrNotForced = errors.New("the gateway does not force it; does the shop use a test key?")

// Gateway is a running gateway as a test key sees it. The errors of its methods hold no input of a
// shop, and no key.
type Gateway struct {
	api    *client.ClientWithResponses
	page   *http.Client
	verify string // scheme and host of verification URLs; "" until a session was created
}

// New returns a gateway for a test key. Its errors do not repeat the arguments.
func New(address, key string) (*Gateway, error) {
	api, err := Client(address, key)
	return &Gateway{api: api, page: plain()}, err
}

// Client returns a client of a gateway's API that follows no redirect and sends a test key. Its errors do
// not repeat the arguments.
func Client(address, key string) (*client.ClientWithResponses, error) {
	switch err := CheckURL("--gateway", address); {
	case err != nil:
		return nil, err
	case strings.HasPrefix(key, "svc_live_"):
		return nil, errors.New("AGEGATE_API_KEY is a live key and must be a test key (svc_test_…): a live key does not " +
			"belong on a developer's machine")
	case !strings.HasPrefix(key, "svc_test_"):
		return nil, errors.New("AGEGATE_API_KEY must be a test key (svc_test_…)")
	}
	return client.NewClientWithResponses(strings.TrimRight(address, "/"), client.WithHTTPClient(plain()),
		client.WithRequestEditorFn(func(_ context.Context, req *http.Request) error {
			req.Header.Set("X-API-Key", key)
			return nil
		}))
}

// CheckURL returns an error with the flag's name unless the address is an absolute http or https URL.
func CheckURL(flag, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New(flag + " must be an absolute http or https URL")
	}
	return nil
}

// plain returns a client of HTTP that follows no redirect.
func plain() *http.Client {
	return &http.Client{Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

var errNoGateway = errors.New("the gateway does not answer; is --gateway the address of its API?")

// refused returns the error for an answer that no case expects.
func refused(status int, keyProblem *client.TextError) error {
	if keyProblem != nil {
		return fmt.Errorf("the gateway refuses: %s", keyProblem.Detail)
	}
	return fmt.Errorf("the gateway answers %d; look the answer up in its page /docs/errors", status)
}

// Registered reports whether a session may redirect to the address, that is whether the tenant has
// registered its host and port. It creates a session that redirects there.
func (g *Gateway) Registered(ctx context.Context, address string) (bool, error) {
	answer, err := g.api.CreateSessionWithResponse(ctx, nil,
		client.CreateSessionRequest{TargetAge: 18, SuccessURL: &address, CancelURL: &address})
	switch {
	case err != nil:
		return false, errNoGateway
	case answer.JSON422 != nil:
		return false, nil
	case answer.JSON429 != nil:
		return false, fmt.Errorf("the gateway refuses: %s", answer.JSON429.Detail)
	case answer.JSON201 == nil:
		return false, refused(answer.StatusCode(), cmp.Or(answer.JSON401, answer.JSON403))
	}
	made, err := url.Parse(answer.JSON201.VerificationURL)
	if err == nil {
		g.verify = made.Scheme + "://" + made.Host
	}
	return true, nil
}

// Pending reports whether the key's tenant has an open session of this ID.
func (g *Gateway) Pending(ctx context.Context, id uuid.UUID) (bool, error) {
	answer, err := g.api.GetSessionStatusWithResponse(ctx, id)
	switch {
	case err != nil:
		return false, errNoGateway
	case answer.JSON404 != nil:
		return false, nil
	case answer.JSON200 == nil:
		return false, refused(answer.StatusCode(), cmp.Or(answer.JSON401, answer.JSON403))
	}
	return answer.JSON200.Status == client.SessionStatusPending, nil
}

var forced = map[session.Result]string{
	session.ResultVerified: "verified", session.ResultFallback: "fallback", session.ResultSpoof: "spoof",
}

// Force gives the test session of a verification URL of this gateway a result, and returns where the
// page then redirects, or "". It returns ErrNotForced if no session of the tenant ends so. A document
// check that is offered ends when the result is forced again.
func (g *Gateway) Force(ctx context.Context, address string, result session.Result) (string, error) {
	for range 2 {
		redirect, status, _, err := g.open(ctx, address, "force="+forced[result])
		switch {
		case err != nil:
			return "", err
		case status == http.StatusBadRequest:
			return "", ErrNotForced
		case status == http.StatusSeeOther || result != session.ResultFallback:
			return redirect, nil
		}
	}
	return "", nil
}

// maxPage is how many bytes of a hosted page are read.
const maxPage = 1 << 20

// Page returns the hosted page of a verification URL of this gateway, in English. It changes nothing.
// A shop may append a language to the verification URL.
func (g *Gateway) Page(ctx context.Context, address string) ([]byte, error) {
	_, _, body, err := g.open(ctx, address, "")
	return body, err
}

// open opens a verification URL with a query.
func (g *Gateway) open(
	ctx context.Context, address, query string,
) (redirect string, status int, body []byte, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme+"://"+u.Host != g.verify {
		return "", 0, nil, errors.New("the verification URL of the order is not one of this gateway")
	}
	u.RawQuery = query
	req := &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{"Accept-Language": {"en"}}}
	res, err := g.page.Do(req.WithContext(ctx))
	if err == nil {
		body, err = io.ReadAll(io.LimitReader(res.Body, maxPage))
		err = errors.Join(err, res.Body.Close())
	}
	if err != nil {
		return "", 0, nil, errors.New("the hosted page does not answer")
	}
	return res.Header.Get("Location"), res.StatusCode, body, nil
}

// Expire makes an open test session expire.
func (g *Gateway) Expire(ctx context.Context, id uuid.UUID) error {
	return g.moveClock(ctx, id, client.ExpiringSession)
}

// ExpireRedirect makes the next redirect of a test session carry an expired token.
func (g *Gateway) ExpireRedirect(ctx context.Context, id uuid.UUID) error {
	return g.moveClock(ctx, id, client.ExpiringRedirect)
}

func (g *Gateway) moveClock(ctx context.Context, id uuid.UUID, what client.Expiring) error {
	answer, err := g.api.MoveTestClockWithResponse(ctx, id, client.TestClockRequest{Expire: what})
	switch {
	case err != nil:
		return errNoGateway
	case answer.JSON200 == nil:
		return refused(answer.StatusCode(), cmp.Or(answer.JSON401, answer.JSON403))
	}
	return nil
}
