package certify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"agegate/internal/rules/session"

	"github.com/google/uuid"
)

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
	o.link, o.redirect = v.address(), new(string)
	o.told = v.told(o.browser, r.target.Order.URL)
	if r.cancels {
		if err := r.tellCancel(ctx, o); err != nil {
			return err
		}
	}
	o.session = session.Session{ID: id, Status: session.StatusPending, SuccessURL: r.successOf(o, id),
		WebhookURL: r.target.WebhookURL}
	o.asker = r.copyOf(o)
	return nil
}

// force gives an order's session a result.
func (r *run) force(ctx context.Context, o *order, result session.Result) (err error) {
	if *o.redirect, err = r.gateway.Force(ctx, o.link, result); err != nil {
		return fmt.Errorf("%w: the session could not be given a result: %w", ErrCannotRun, err)
	}
	return nil
}

// redirectOf returns where the gateway redirects an order's browser after a pass.
func (r *run) redirectOf(ctx context.Context, o *order) (string, error) {
	if *o.redirect == "" {
		if err := r.force(ctx, o, session.ResultVerified); err != nil {
			return "", err
		}
	}
	if *o.redirect == "" {
		return "", fmt.Errorf("%w: the gateway does not redirect after a pass", ErrCannotRun)
	}
	return *o.redirect, nil
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
