package web

import (
	"errors"
	"net/http"

	"agegate/internal/credential"
	"agegate/internal/session"

	"github.com/labstack/echo/v4"
)

// outcomes are the values of force, as a tester writes them.
var outcomes = map[string]session.Result{
	"verified": session.ResultVerified,
	"fallback": session.ResultFallback,
	"spoof":    session.ResultSpoof,
}

// force applies an outcome to a test session. It needs neither cookie nor
// script. A live session is never forced.
func (p *Pages) force(c echo.Context, v visit, name string) error {
	result, known := outcomes[name]
	switch {
	case v.sess.Livemode:
		return p.refuseForce(c, "force_live", v)
	case !known:
		return p.refuseForce(c, "force_unknown", v)
	case c.Request().Method != http.MethodGet:
		return p.showState(c, v)
	}
	if p.status(v) == session.StatusPending {
		if err := p.claim(c, &v); err != nil {
			return err
		}
		after, err := p.cfg.Sessions.Resolve(c.Request().Context(), v.sess, session.Verdict{Result: result, Source: session.SourceForced})
		if err != nil && !isLate(err) {
			return err
		}
		if v.sess = after; err == nil && !v.owner {
			// The session was begun in another browser, but this request
			// decided it, so this one is led to the result.
			if v.cookie, err = credential.NewLinkToken(p.cfg.Random); err != nil {
				return err
			}
			v.sess.BrowserHash = credential.LinkHash(v.cookie)
		}
	}
	// Whoever forces sees the result, also when it was forced before; only the
	// redirect stays with the browser that passed.
	v.owner = v.sess.Status != session.StatusPassed || v.sess.Owns(v.cookie)
	return p.showState(c, v)
}

// isLate reports that a session had ended, or moved on, before the request
// could change it: its state's page tells the shopper the rest.
func isLate(err error) bool { return errors.Is(err, session.ErrLate) }
