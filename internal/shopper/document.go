package shopper

import (
	"net/http"

	"agegate/internal/session"

	"github.com/labstack/echo/v4"
)

// showDocument answers GET /v/{token}/document, the document step of a shopper
// who accepted the offer.
func (p *Pages) showDocument(c echo.Context) error {
	v, err := p.visit(c)
	if err != nil {
		return err
	}
	if p.screenOf(v) != screenDocument {
		return c.Redirect(http.StatusSeeOther, v.path)
	}
	if p.cfg.Documents != nil {
		next, err := p.cfg.Documents.Begin(c.Request().Context(), v.sess)
		if err != nil {
			return err
		}
		return c.Redirect(http.StatusSeeOther, next)
	}
	return p.render(c, http.StatusOK, "document", &documentView{
		layout: p.layoutOf(v), exit: exitOf(v), TargetAge: v.sess.TargetAge, Unavailable: true,
	})
}

// document answers POST /v/{token}/document: the shopper accepts or declines
// the offer.
func (p *Pages) document(c echo.Context) error {
	v, err := p.visit(c)
	if err != nil {
		return err
	}
	if p.screenOf(v) != screenDocument {
		return p.onward(c, v, v.path)
	}
	next := v.path
	switch ctx := c.Request().Context(); c.FormValue("choice") {
	case "accept":
		next += "/document"
		v.sess, err = p.cfg.Sessions.StepDocument(ctx, v.sess)
	case "decline":
		v.sess, err = p.cfg.Sessions.Resolve(ctx, v.sess, session.CheckResult{Result: session.ResultFallback, Source: session.SourceDocument})
	default:
		return echo.ErrBadRequest
	}
	if err != nil && !isLate(err) {
		return err
	}
	return p.onward(c, v, next)
}
