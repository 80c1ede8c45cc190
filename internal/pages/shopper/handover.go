package shopper

import (
	"html/template"
	"net/http"

	"agegate/internal/pages/page"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"

	"github.com/labstack/echo/v4"
	"rsc.io/qr"
)

// registerHandover registers the pages on which a phone makes the camera check for another browser.
func (p *Pages) registerHandover(e *echo.Echo) {
	getOrHead := []string{http.MethodGet, http.MethodHead}
	e.Match(getOrHead, "/v/:token/handover", p.at(nil, p.showHandover), page.Compress)
	e.GET("/v/:token/handover/state", p.handoverState)
	e.POST("/v/:token/handover", p.at(p.filmable, p.offerHandover), p.pages.SameOrigin)
	e.Match(getOrHead, "/h/:handover", p.showPhone, page.Compress)
	e.GET("/h/:handover/stream", p.onPhone(p.capture))
	e.POST("/h/:handover/trouble/:kind", p.onPhone(p.trouble), p.pages.SameOrigin)
	e.POST("/h/:handover/start", p.startPhone, p.pages.SameOrigin)
	e.POST("/h/:handover/without-camera", p.onPhone(p.goWithout), p.pages.SameOrigin)
}

type handoverView struct {
	layout
	exit
	State   string       // see handoverStateOf
	QR      template.URL // PNG of the phone's link
	Address string       // the phone's link
	Code    string
	Here    string // path of this browser's own camera page
	Mobile  bool   // this browser is on a phone, which cannot scan its own screen
}

// filmable reports whether this browser, or a phone in its place, may open a camera now.
func (p *Pages) filmable(v visit) bool { return p.capturable(v) || p.photographable(v) }

// offerHandover answers POST /v/{token}/handover: a new code for a phone, or,
// with link=first, a link for another browser.
func (p *Pages) offerHandover(c echo.Context, v visit) error {
	err := p.cfg.Handovers.Offer(c.Request().Context(), v.sess, v.cookie)
	if err != nil && !isLate(err) {
		return err
	}
	next := v.path + "/handover"
	if c.FormValue("link") == "first" {
		next += "?link=first"
	}
	return p.onward(c, v, next)
}

// showHandover answers GET /v/{token}/handover: the code to scan, and what the phone is doing.
func (p *Pages) showHandover(c echo.Context, v visit) error {
	offer, state, err := p.handoverStateOf(c, v)
	if err != nil {
		return err
	}
	if state == handoverOver {
		return p.onward(c, v, v.path)
	}
	view := &handoverView{
		layout: p.layoutOf(v), exit: exitOf(v), State: state, Code: offer.Code,
		Address: p.cfg.VerifyURL + "/h/" + offer.Token, Here: v.path + "/camera", Mobile: mobile(c),
	}
	if v.sess.DocumentOpen() {
		view.Here = v.path + "/photo"
	}
	if view.QR, err = v.picture(c.Request().Context(), view.Address, qr.M); err != nil {
		return err
	}
	return p.render(c, http.StatusOK, "handover", view)
}

// The states of a handover in its page's script.
const (
	handoverWaiting = "waiting" // for a phone
	handoverPhone   = "phone"   // a phone has it
	handoverExpired = "expired" // nobody took it in time
	handoverOver    = "over"    // the session's page shows how it continues
)

// handoverState answers GET /v/{token}/handover/state, which the page polls.
func (p *Pages) handoverState(c echo.Context) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	v, err := p.visit(c)
	if isDisabled(err) { // the page redirects to the session's page, which says so
		return c.JSON(http.StatusForbidden, map[string]string{"state": handoverOver})
	}
	if err != nil {
		return err
	}
	_, state, err := p.handoverStateOf(c, v)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]string{"state": state})
}

func (p *Pages) handoverStateOf(c echo.Context, v visit) (session.Offer, string, error) {
	lastRuns := p.screenOf(v) == screenUsedUp // a phone may still be making it
	if !p.filmable(v) && !lastRuns {
		return session.Offer{}, handoverOver, nil
	}
	offer, err := p.cfg.Handovers.Offered(c.Request().Context(), v.sess, v.cookie)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return offer, handoverOver, nil
	case err != nil:
		return offer, "", err
	case offer.Taken:
		return offer, handoverPhone, nil
	case lastRuns:
		return offer, handoverOver, nil
	case offer.Open:
		return offer, handoverWaiting, nil
	default:
		return offer, handoverExpired, nil
	}
}
