package shopper

import (
	"net/http"

	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"

	"github.com/labstack/echo/v4"
)

// phoneVisit reads the session of a phone's link. The visit's owner field says that
// this phone has accepted the handover, and acts for the session's own browser.
func (p *Pages) phoneVisit(c echo.Context) (visit, error) {
	token, cookie := c.Param("handover"), ""
	if kept, err := c.Cookie(p.phoneCookie(token)); err == nil {
		cookie = kept.Value
	}
	sess, taken, err := p.cfg.Handovers.Open(c.Request().Context(), token, cookie)
	if err != nil {
		return visit{}, err
	}
	v, err := p.visitOf(c, sess, "/h/"+token)
	if err != nil {
		return visit{}, err
	}
	v.cookie, v.owner, v.claim = cookie, taken, session.PhoneClaim(token, cookie)
	return v, v.refused()
}

// showPhone answers GET /h/{handover}: the code to compare, then the camera, then
// a notice that this phone is finished or that the session has expired.
func (p *Pages) showPhone(c echo.Context) error {
	v, err := p.phoneVisit(c)
	if isGone(err) {
		return p.handoverGone(c)
	}
	if err != nil {
		return err
	}
	if v.owner && p.screenOf(v) == screenUsedUp {
		if v.sess, err = p.cfg.Sessions.EndAttempt(c.Request().Context(), v.sess, ""); err != nil && !isLate(err) {
			return err
		}
	}
	l := layout{look: lookOf(v), Test: !v.sess.Livemode, Path: v.path}
	switch {
	case p.screenOf(v) == screenExpired:
		return p.render(c, http.StatusGone, "notice",
			&noticeView{layout: l, Name: "expired", Icon: notices["expired"]})
	case p.doneOnPhone(v):
		name := "handover_done"
		if v.sess.DocumentOpen() {
			name = "handover_document"
		}
		return p.render(c, http.StatusOK, "notice", &noticeView{layout: l, Name: name, Icon: notices[name],
			Passed: p.screenOf(v) == screenPassed})
	case !v.owner:
		if err := p.greetPhone(c, &v); err != nil {
			return err
		}
		view := introOf(v, l, []session.Way{session.WayPhoto})
		view.Code, view.Consents = session.HandoverCode(c.Param("handover")), false // asked on the other screen
		view.DocumentOnly = v.sess.DocumentOpen()
		return p.render(c, http.StatusOK, "phone", view)
	case !p.filmable(v):
		return p.notice(c, http.StatusServiceUnavailable, "not_available", v)
	default:
		cameraOf := p.ageCameraOf
		if v.sess.DocumentOpen() {
			cameraOf = p.photoCameraOf
		}
		view, err := cameraOf(c, v)
		if err != nil {
			return err
		}
		view.layout, view.Camera, view.OnPhone = l, v.path, true
		view.Leave, view.Handover, view.Back, view.DeviceFirst = "", "", "", false
		return p.render(c, http.StatusOK, "camera", view)
	}
}

// doneOnPhone reports whether a phone has nothing more to do for the session.
func (p *Pages) doneOnPhone(v visit) bool {
	switch {
	case p.status(v) != session.StatusPending:
		return true
	case v.sess.DocumentOpen():
		v.owner = true // whether this phone may do it is checked later
		return !p.photographable(v)
	}
	return v.sess.AttemptsLeft() == 0
}

// startPhone answers POST /h/{handover}/start: the person confirms that both
// codes are the same, and this phone accepts the handover.
func (p *Pages) startPhone(c echo.Context) error {
	v, err := p.phoneVisit(c)
	if err == nil && !v.owner {
		err = p.takeHandover(c, v)
	}
	if isGone(err) {
		return p.handoverGone(c)
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, v.path)
}

// isGone reports that a phone's link is unknown, expired or used.
func isGone(err error) bool {
	code := fault.CodeOf(err)
	return code == fault.NotFound || code == fault.Gone
}

func (p *Pages) handoverGone(c echo.Context) error {
	return p.render(c, http.StatusGone, "notice", &noticeView{Name: "handover_gone", Icon: notices["handover_gone"]})
}

func (p *Pages) takeHandover(c echo.Context, v visit) error {
	if err := p.greetPhone(c, &v); err != nil {
		return err
	}
	_, err := p.cfg.Handovers.Take(c.Request().Context(), v.sess, c.Param("handover"), v.cookie)
	if isLate(err) {
		return nil // the page that follows shows the state of the session
	}
	return err
}

// greetPhone gives the phone the cookie with which it will accept the handover.
func (p *Pages) greetPhone(c echo.Context, v *visit) error {
	if v.cookie != "" {
		return nil
	}
	return p.giveCookie(c, v, p.phoneCookie(c.Param("handover")), session.MaxLifetime)
}

// onPhone returns the handler of what a phone does below /h/{handover} for the session's own browser.
func (p *Pages) onPhone(answer func(echo.Context, visit) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		v, err := p.phoneVisit(c)
		if isGone(err) {
			return p.handoverGone(c)
		}
		if err != nil {
			return err
		}
		return answer(c, v)
	}
}

func (p *Pages) phoneCookie(token string) string {
	return p.cookieName(credential.HashToken(token), "phone-")
}
