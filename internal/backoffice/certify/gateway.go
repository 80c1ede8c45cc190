package certify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// Gateway is a running gateway as a test key sees it. Its errors hold no input
// of the shop.
type Gateway interface {
	// Registered reports whether a session may redirect to the address, that is
	// whether the tenant has registered its host and port.
	Registered(ctx context.Context, address string) (bool, error)
	// Pending reports whether the key's tenant has an open session of this ID.
	Pending(ctx context.Context, id uuid.UUID) (bool, error)
	// Force gives the test session of a verification URL of this gateway a result,
	// and returns where the page then redirects, or "".
	Force(ctx context.Context, verificationURL string, result session.Result) (redirect string, err error)
	// Expire makes an open test session expire.
	Expire(ctx context.Context, id uuid.UUID) error
	// ExpireRedirect makes the next redirect of a test session carry an expired
	// token.
	ExpireRedirect(ctx context.Context, id uuid.UUID) error
}

// sessionHeader is a header of a shop's answer to an order: the ID of its
// session. JSON has it as session_id.
const sessionHeader = "Agegate-Session"

// Secrets are the tenant's signing secrets of test mode, decoded. One that is not
// known is nil.
type Secrets struct{ Redirect, Webhook []byte }

// Attack attacks a shop from outside the gateway. The report's LeftOut lists the cases
// that it cannot try. If the redirect secret is not known, it sends only tokens of the
// gateway's own redirects, and forgeries signed with made-up keys. Nothing is stored.
// Its errors wrap ErrCannotRun.
func Attack(ctx context.Context, g Gateway, known Secrets, target Target, tools Tools, o Options) (*Report, error) {
	r, err := newRun(tools, o, func(c testCase) bool { return c.possible(&target, known) })
	if err != nil {
		return nil, err
	}
	r.gateway = g
	r.target = &target
	r.redirectKey = known.Redirect
	if known.Webhook != nil {
		r.webhookKeys = [][]byte{known.Webhook}
	}
	if err := r.reach(ctx); err != nil {
		return nil, err
	}
	return r.report(ctx)
}

// reach checks that the run reaches only addresses of the tenant, and learns the
// Success URL.
func (r *run) reach(ctx context.Context) error {
	for _, q := range r.target.requests() {
		if err := r.permit(ctx, q.name+".url", q.at(uuid.Nil)); err != nil {
			return err
		}
	}
	if r.target.SuccessURL == "" {
		o, err := r.order(ctx)
		if err != nil {
			return err
		}
		address, err := r.redirectOf(ctx, o)
		if err != nil {
			return err
		}
		if r.target.SuccessURL, err = withoutResult(address); err != nil {
			return fmt.Errorf("%w: the gateway's redirect cannot be read", ErrCannotRun)
		}
	}
	for name, address := range map[string]string{"webhook_url": r.target.WebhookURL, "cancel_url": r.target.CancelURL} {
		if address == "" {
			continue
		}
		if err := r.permit(ctx, name, address); err != nil {
			return err
		}
	}
	return r.permit(ctx, "success_url", r.target.SuccessURL)
}

// permit returns an error that names the field if the tenant has not registered
// the address's host and port.
func (r *run) permit(ctx context.Context, field, address string) error {
	e, err := (tenant.CallbackRule{AllowInsecure: true}).Parse(address)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrCannotRun, field, err)
	}
	ok, err := r.gateway.Registered(ctx, address)
	if err != nil {
		return errors.Join(ErrCannotRun, err)
	}
	if !ok {
		return fmt.Errorf("%w: %s: its host and port are not those of a URL that the tenant has registered; register "+
			"them, or write them as registered (localhost and 127.0.0.1 are two hosts)", ErrCannotRun, field)
	}
	if !slices.Contains(r.hosts, e.Host) {
		r.hosts = append(r.hosts, e.Host)
	}
	return nil
}

// adopt takes the session of an order from the shop's answer.
func (r *run) adopt(ctx context.Context, o *order, v visit) error {
	var said struct {
		ID string `json:"session_id"`
	}
	_ = json.Unmarshal(v.body, &said) // text that is not JSON names no session
	id, err := uuid.Parse(cmp.Or(v.session, said.ID))
	if err != nil {
		return fmt.Errorf("%w: the shop's answer to an order does not name its session; add the header %s with the "+
			"session's ID, or session_id to the JSON", ErrCannotRun, sessionHeader)
	}
	if r.named[id] {
		return fmt.Errorf("%w: the shop gave a new order the session of an earlier one, so that one pass would do for both; "+
			"it must create one for each order, with an Idempotency-Key of its own", ErrCannotRun)
	}
	pending, err := r.gateway.Pending(ctx, id)
	if err != nil {
		return errors.Join(ErrCannotRun, err)
	}
	if !pending {
		return fmt.Errorf("%w: the order's session is not an open session of the key's tenant", ErrCannotRun)
	}
	r.named[id] = true
	o.link = v.address()
	o.session = session.Session{ID: id, Status: session.StatusPending,
		SuccessURL: strings.ReplaceAll(r.target.SuccessURL, sessionParam, id.String()), WebhookURL: r.target.WebhookURL}
	return nil
}

// force gives an order's session a result.
func (r *run) force(ctx context.Context, o *order, result session.Result) (err error) {
	if o.redirect, err = r.gateway.Force(ctx, o.link, result); err != nil {
		return fmt.Errorf("%w: the session could not be given a result: %w", ErrCannotRun, err)
	}
	return nil
}

// redirectOf returns where the gateway redirects an order's browser after a pass.
func (r *run) redirectOf(ctx context.Context, o *order) (string, error) {
	if o.redirect == "" {
		if err := r.force(ctx, o, session.ResultVerified); err != nil {
			return "", err
		}
	}
	if o.redirect == "" {
		return "", fmt.Errorf("%w: the gateway does not redirect after a pass", ErrCannotRun)
	}
	return o.redirect, nil
}

// withoutResult removes the parameters of a result from an address.
func withoutResult(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	values := u.Query()
	for _, name := range resultParams {
		values.Del(name)
	}
	u.RawQuery = values.Encode()
	return u.String(), nil
}
