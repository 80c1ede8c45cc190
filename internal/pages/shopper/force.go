package shopper

import (
	"errors"

	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"

	"github.com/labstack/echo/v4"
)

// forcedResults maps the values of the parameter force to results.
var forcedResults = map[string]session.Result{
	"verified": session.ResultVerified,
	"fallback": session.ResultFallback,
	"spoof":    session.ResultSpoof,
}

// unforcible returns the name of the notice that refuses the values of force, or "" if they are allowed. For a session
// that has ended, every known value is allowed and shows the session's page.
func (p *Pages) unforcible(v visit, values []string) string {
	result, known := forcedResults[values[0]]
	switch {
	case v.sess.Livemode:
		return "force_live"
	case !known || len(values) > 1:
		return "force_unknown"
	case result == session.ResultSpoof && v.sess.WithoutCamera(v.tenant) && p.status(v) == session.StatusPending:
		return "force_document"
	}
	return ""
}

// force applies a result to a test session. It needs neither cookie nor script.
func (p *Pages) force(c echo.Context, v visit, name string) error {
	if p.status(v) == session.StatusPending {
		if err := p.claim(c, &v); err != nil {
			return err
		}
		verdict := session.CheckResult{Result: forcedResults[name], Source: session.SourceForced}
		after, err := p.cfg.Sessions.Resolve(c.Request().Context(), v.sess, verdict)
		if err != nil && !isLate(err) {
			return err
		}
		v.sess = after
		if notice := p.unforcible(v, []string{name}); notice != "" && err != nil {
			return p.refuseForce(c, notice, v) // the document check was opened in the meantime
		}
		if err == nil && !v.owner {
			// The session began in another browser. This request decided it, so this browser sees the result too.
			if v.cookie, err = credential.NewLinkToken(p.cfg.Random); err != nil {
				return err
			}
			v.sess.BrowserHash = credential.HashToken(v.cookie)
		}
		if err == nil && v.sess.DocumentOpen() && c.QueryParams().Has("end") {
			return p.force(c, v, name) // the document is left out too
		}
	}
	// This browser sees the result, even if the result was forced before. The redirect
	// after a pass is only for the browser that passed.
	v.owner = v.sess.Status != session.StatusPassed || v.sess.Owns(v.cookie)
	return p.showState(c, v)
}

// isLate reports that a session had ended or moved on before the request could
// change it. The page of its state explains this.
func isLate(err error) bool { return errors.Is(err, session.ErrLate) }

// isDisabled reports that the session's tenant is disabled.
func isDisabled(err error) bool { return errors.Is(err, session.ErrDisabled) }
