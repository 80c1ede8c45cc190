package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"agegate/gen/client"
	"agegate/internal/backoffice/certify"
	"agegate/internal/backoffice/suite"
	"agegate/internal/rules/session"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

// nearNets are the networks of a developer's machine, which a run with a test
// key reaches.
var nearNets = []netip.Prefix{
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("fc00::/7"),
}

// certifyTimeout is how long an answer of the gateway may take.
const certifyTimeout = 15 * time.Second

// certifyByKey returns a certify that needs a test key alone.
func (c *cli) certifyByKey(
	address string,
) func(context.Context, certify.Target, []string, io.Writer) (*certify.Report, error) {
	return func(ctx context.Context, target certify.Target, cases []string, stderr io.Writer) (*certify.Report, error) {
		key, _ := c.env("AGEGATE_API_KEY")
		gateway, err := newKeyGateway(address, key)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(stderr, "Left out, because they need a secret of the tenant: %s. To try them, run on the gateway's database.\n", strings.Join(certify.NotByKey(target), " "))
		progress := caseProgress(stderr, suite.Passed)
		service := certify.NewService(certify.Config{Client: webhook.NewClient(nearNets), Random: rand.Reader, Now: now})
		return service.RunByKey(ctx, gateway, target, certify.Options{
			Cases: cases, Progress: func(done, total int, r certify.Result) { progress(done, total, r.Case, r.Outcome) },
		})
	}
}

// keyGateway is the certify.Gateway of a test key.
type keyGateway struct {
	api    *client.ClientWithResponses
	page   *http.Client
	verify string // scheme and host of verification URLs; "" until a session was created
}

// newKeyGateway checks the arguments. Its errors do not repeat them.
func newKeyGateway(address, key string) (*keyGateway, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("--gateway must be an absolute http or https URL")
	}
	if !strings.HasPrefix(key, "svc_test_") {
		return nil, errors.New("AGEGATE_API_KEY must be a test key (svc_test_…); a live key is not used here")
	}
	plain := &http.Client{Timeout: certifyTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	api, err := client.NewClientWithResponses(strings.TrimRight(address, "/"), client.WithHTTPClient(plain),
		client.WithRequestEditorFn(func(_ context.Context, req *http.Request) error {
			req.Header.Set("X-API-Key", key)
			return nil
		}))
	return &keyGateway{api: api, page: plain}, err
}

var errNoGateway = errors.New("the gateway does not answer; is --gateway the address of its API?")

// refused returns the error for an answer that no case expects.
func refused(status int, keyProblem *client.TextError) error {
	if keyProblem != nil {
		return refusedError{keyProblem.Detail}
	}
	return fmt.Errorf("the gateway answers %d; look the answer up in its page /docs/errors", status)
}

// Registered implements certify.Gateway: it creates a session that redirects
// there.
func (g *keyGateway) Registered(ctx context.Context, address string) (bool, error) {
	answer, err := g.api.CreateSessionWithResponse(ctx, nil,
		client.CreateSessionRequest{TargetAge: 18, SuccessURL: &address, CancelURL: &address})
	switch {
	case err != nil:
		return false, errNoGateway
	case answer.JSON422 != nil:
		return false, nil
	case answer.JSON429 != nil:
		return false, refusedError{answer.JSON429.Detail}
	case answer.JSON201 == nil:
		return false, refused(answer.StatusCode(), answer.JSON401)
	}
	made, err := url.Parse(answer.JSON201.VerificationURL)
	if err == nil {
		g.verify = made.Scheme + "://" + made.Host
	}
	return true, nil
}

// Pending implements certify.Gateway.
func (g *keyGateway) Pending(ctx context.Context, id uuid.UUID) (bool, error) {
	answer, err := g.api.GetSessionStatusWithResponse(ctx, id)
	switch {
	case err != nil:
		return false, errNoGateway
	case answer.JSON404 != nil:
		return false, nil
	case answer.JSON200 == nil:
		return false, refused(answer.StatusCode(), answer.JSON401)
	}
	return answer.JSON200.Status == client.SessionStatusPending, nil
}

var forced = map[session.Result]string{
	session.ResultVerified: "verified", session.ResultFallback: "fallback", session.ResultSpoof: "spoof",
}

// Force implements certify.Gateway. A document check that is offered ends when
// the result is forced again.
func (g *keyGateway) Force(ctx context.Context, address string, result session.Result) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme+"://"+u.Host != g.verify {
		return "", errors.New("the verification URL of the order is not one of this gateway")
	}
	u.RawQuery = "force=" + forced[result]
	for range 2 {
		redirect, status, err := g.open(ctx, u.String())
		switch {
		case err != nil:
			return "", err
		case status == http.StatusBadRequest:
			return "", errors.New("the gateway does not force it; does the shop use a test key?")
		case status == http.StatusSeeOther || result != session.ResultFallback:
			return redirect, nil
		}
	}
	return "", nil
}

// open opens an address of the hosted page.
func (g *keyGateway) open(ctx context.Context, address string) (redirect string, status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", 0, err
	}
	res, err := g.page.Do(req)
	if err != nil {
		return "", 0, errors.New("the hosted page does not answer")
	}
	return res.Header.Get("Location"), res.StatusCode, res.Body.Close()
}

// Expire implements certify.Gateway.
func (g *keyGateway) Expire(ctx context.Context, id uuid.UUID) error {
	return g.moveClock(ctx, id, client.ExpiringSession)
}

// ExpireRedirect implements certify.Gateway.
func (g *keyGateway) ExpireRedirect(ctx context.Context, id uuid.UUID) error {
	return g.moveClock(ctx, id, client.ExpiringRedirect)
}

func (g *keyGateway) moveClock(ctx context.Context, id uuid.UUID, what client.Expiring) error {
	answer, err := g.api.MoveTestClockWithResponse(ctx, id, client.TestClockRequest{Expire: what})
	switch {
	case err != nil:
		return errNoGateway
	case answer.JSON200 == nil:
		return refused(answer.StatusCode(), answer.JSON401)
	}
	return nil
}
