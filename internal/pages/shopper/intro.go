package shopper

import (
	"net/http"
	"net/url"

	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"

	"github.com/labstack/echo/v4"
)

type introView struct {
	layout
	exit
	Consents     bool          // the shopper will be asked whether to share the estimate
	CameraOff    bool          // only forced outcomes work
	DocumentOnly bool          // a document is shown and no estimate made
	Ways         []session.Way // of the document check, instead of the camera or alone; empty if there is none
	Code         string        // which the other screen shows too, on the phone of a hand-over
}

// introOf returns what the introduction says if the session may take ways of the document check.
func introOf(v visit, l layout, ways []session.Way) *introView {
	return &introView{layout: l, exit: exitOf(v), Consents: consents(v.tenant), DocumentOnly: v.tenant.DocumentOnly,
		Ways: ways}
}

// showIntro writes the introduction. It offers a document instead of the camera if the
// session may take a way of the document check.
func (p *Pages) showIntro(c echo.Context, v visit, l layout) error {
	ways, err := p.choices(c, v)
	if err != nil {
		return err
	}
	view := introOf(v, l, ways)
	view.CameraOff = p.cfg.NewCapture == nil && !v.tenant.DocumentOnly
	return p.render(c, http.StatusOK, "intro", view)
}

// consents reports whether shoppers are asked for a consent to share the estimate.
func consents(of tenant.Tenant) bool { return of.AgeVisibility && !of.DocumentOnly }

// asked answers GET /v/{token}?asked, to which the merchant's own page leads after it has asked what the introduction
// asks. Nothing but the next step is left to show, unless the shopper has to choose or to consent. That it is the
// merchant's page is seen by the address that the browser says it comes from; without it, the introduction is shown.
func (p *Pages) asked(c echo.Context, v visit) (done bool, err error) {
	from, _ := url.Parse(c.Request().Referer()) // nil, if it cannot be read
	home, _ := url.Parse(v.sess.SuccessURL)
	if from == nil || home == nil || from.Host == "" || from.Host != home.Host || from.Scheme != home.Scheme ||
		!c.QueryParams().Has("asked") || p.screenOf(v) != screenIntro || consents(v.tenant) {
		return false, nil
	}
	if v.tenant.DocumentOnly {
		next, err := p.preferDocument(c, &v)
		if err != nil || p.screenOf(v) == screenIntro {
			return false, err
		}
		return true, p.onward(c, v, next+"?"+c.QueryString()) // with the language
	}
	ways, err := p.choices(c, v)
	if err != nil || len(ways) > 0 || p.cfg.NewCapture == nil {
		return false, err
	}
	if err := p.claim(c, &v); err != nil {
		return false, err
	}
	return true, p.onward(c, v, v.path+"/camera?"+c.QueryString())
}

// start answers POST /v/{token}/start. The shopper continues from the introduction with the camera, or with a document
// if that is offered. The session is bound to this browser.
func (p *Pages) start(c echo.Context, v visit) (err error) {
	next := v.path
	switch choice := c.FormValue("choice"); choice {
	case "", "camera":
		if p.screenOf(v) == screenIntro && !v.tenant.DocumentOnly {
			if err := p.claim(c, &v); err != nil {
				return err
			}
		}
	case "document":
		if next, err = p.preferDocument(c, &v); err != nil {
			return err
		}
	default:
		return echo.ErrBadRequest
	}
	return p.onward(c, v, next)
}

// preferDocument opens the document check instead of the camera check and returns the page that follows: that of the
// only way, which needs no choice, or the session's. It changes nothing if that is no longer possible, or if no way is
// available: a check that nobody can pass expires, and is not billed. The session's page shows why.
func (p *Pages) preferDocument(c echo.Context, v *visit) (next string, err error) {
	next = v.path
	if p.cfg.NewCapture == nil && !v.tenant.DocumentOnly || p.screenOf(*v) != screenIntro && !p.capturable(*v) {
		return next, nil
	}
	ways, err := p.choices(c, *v)
	if err != nil || len(ways) == 0 {
		return next, err
	}
	if err := p.claim(c, v); err != nil || !v.owner {
		return next, err
	}
	after, err := p.cfg.Sessions.Resolve(c.Request().Context(), v.sess, session.PreferDocument(v.claim))
	if err != nil && !isLate(err) {
		return next, err
	}
	if v.sess = after; len(ways) == 1 && p.screenOf(*v) == screenDocument {
		return p.begin(c, *v, ways[0])
	}
	return next, nil
}
