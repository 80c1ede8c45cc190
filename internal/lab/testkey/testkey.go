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
	"agegate/internal/lab/certify"
	"agegate/internal/rules/session"

	"github.com/google/uuid"
)

// timeout is how long an answer of the gateway may take.
const timeout = 15 * time.Second

var _ certify.Gateway = (*Gateway)(nil)

// Gateway implements certify.Gateway.
type Gateway struct {
	api    *client.ClientWithResponses
	page   *http.Client
	verify string // scheme and host of verification URLs; "" until a session was created
}

// New checks the arguments. Its errors do not repeat them.
func New(address, key string) (*Gateway, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("--gateway must be an absolute http or https URL")
	}
	if !strings.HasPrefix(key, "svc_test_") {
		return nil, errors.New("AGEGATE_API_KEY must be a test key (svc_test_…); a live key is not used here")
	}
	plain := &http.Client{Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	api, err := client.NewClientWithResponses(strings.TrimRight(address, "/"), client.WithHTTPClient(plain),
		client.WithRequestEditorFn(func(_ context.Context, req *http.Request) error {
			req.Header.Set("X-API-Key", key)
			return nil
		}))
	return &Gateway{api: api, page: plain}, err
}

var errNoGateway = errors.New("the gateway does not answer; is --gateway the address of its API?")

// refused returns the error for an answer that no case expects.
func refused(status int, keyProblem *client.TextError) error {
	if keyProblem != nil {
		return fmt.Errorf("the gateway refuses: %s", keyProblem.Detail)
	}
	return fmt.Errorf("the gateway answers %d; look the answer up in its page /docs/errors", status)
}

// Registered implements certify.Gateway: it creates a session that redirects
// there.
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

// Pending implements certify.Gateway.
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

// Force implements certify.Gateway. A document check that is offered ends when
// the result is forced again.
func (g *Gateway) Force(ctx context.Context, address string, result session.Result) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme+"://"+u.Host != g.verify {
		return "", errOtherGateway
	}
	u.RawQuery = "force=" + forced[result]
	for range 2 {
		redirect, status, _, err := g.open(ctx, u.String())
		switch {
		case err != nil:
			return "", err
		case status == http.StatusBadRequest:
			return "", certify.ErrNotForced
		case status == http.StatusSeeOther || result != session.ResultFallback:
			return redirect, nil
		}
	}
	return "", nil
}

var errOtherGateway = errors.New("the verification URL of the order is not one of this gateway")

// maxPage is how many bytes of a hosted page are read.
const maxPage = 1 << 20

// Page implements certify.Gateway. A shop may append a language to the verification URL.
func (g *Gateway) Page(ctx context.Context, address string) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme+"://"+u.Host != g.verify {
		return nil, errOtherGateway
	}
	u.RawQuery = ""
	_, _, body, err := g.open(ctx, u.String())
	return body, err
}

// open opens an address of the hosted page.
func (g *Gateway) open(ctx context.Context, address string) (redirect string, status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", 0, nil, err
	}
	req.Header.Set("Accept-Language", "en")
	res, err := g.page.Do(req)
	if err == nil {
		body, err = io.ReadAll(io.LimitReader(res.Body, maxPage))
		err = errors.Join(err, res.Body.Close())
	}
	if err != nil {
		return "", 0, nil, errors.New("the hosted page does not answer")
	}
	return res.Header.Get("Location"), res.StatusCode, body, nil
}

// Expire implements certify.Gateway.
func (g *Gateway) Expire(ctx context.Context, id uuid.UUID) error {
	return g.moveClock(ctx, id, client.ExpiringSession)
}

// ExpireRedirect implements certify.Gateway.
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
