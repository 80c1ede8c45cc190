package shopper

import (
	"net/http"
	"slices"

	"agegate/internal/backoffice/insight"
	"agegate/internal/check/document/wallet"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"

	"github.com/labstack/echo/v4"
)

// screen is the page for a state of the session.
type screen int

const (
	screenIntro screen = iota
	screenConsent
	screenCamera
	screenDocument
	screenPassed
	screenFallback
	screenSpoof
	screenCompleted // ended; this browser did not make the check
	screenElsewhere // the check was begun in another browser
	screenExpired
	screenUsedUp      // the last attempt has begun; opening a page gives it up
	screenUnavailable // the estimator is off; waiting helps nobody
)

// screenOf chooses the screen for a session's state. No other function does.
func (p *Pages) screenOf(v visit) screen {
	switch p.status(v) {
	case session.StatusExpired:
		return screenExpired
	case session.StatusPending:
		return p.openScreen(v)
	}
	switch {
	case !v.owner:
		return screenCompleted
	case v.sess.Status == session.StatusPassed:
		return screenPassed
	case v.sess.Status == session.StatusFallback:
		return screenFallback
	default:
		return screenSpoof
	}
}

func (p *Pages) openScreen(v visit) screen {
	begun := v.sess.BrowserHash != nil
	switch {
	case begun && !v.owner:
		return screenElsewhere
	case v.sess.DocumentOpen():
		return screenDocument
	case v.tenant.DocumentOnly:
		return screenIntro
	case begun && v.sess.AttemptsLeft() == 0:
		return screenUsedUp
	case p.cfg.NewCapture == nil && v.sess.Livemode:
		return screenUnavailable
	case !begun || p.cfg.NewCapture == nil:
		return screenIntro
	case v.tenant.AgeVisibility && v.sess.BegunAt == nil:
		return screenConsent
	default:
		return screenCamera
	}
}

// show answers GET /v/{token} with the page for the session's state, or with the result that a test session's force
// parameter names. A wrong parameter is reported even if the session is not available.
func (p *Pages) show(c echo.Context) error {
	v, err := p.anyVisit(c)
	if err != nil {
		return err
	}
	values, forced := c.QueryParams()["force"]
	if forced {
		if name := p.unforcible(v, values); name != "" {
			return p.refuseForce(c, name, v)
		}
	}
	if err := v.refused(); err != nil {
		return err
	}
	if c.Request().Method != http.MethodGet {
		return p.showState(c, v)
	}
	if forced {
		return p.force(c, v, values[0])
	}
	p.cfg.Sessions.Opened(c.Request().Context(), v.sess)
	if p.screenOf(v) == screenElsewhere && v.sess.Last(session.NoteLink) == "" { // kept once, for support staff
		_ = p.cfg.Sessions.Note(c.Request().Context(), v.sess, v.claim, session.NoteOther)
	}
	if done, err := p.asked(c, v); done || err != nil {
		return err
	}
	return p.showState(c, v)
}

// showState writes the page of the session's state.
func (p *Pages) showState(c echo.Context, v visit) error {
	l := p.layoutOf(v)
	switch p.screenOf(v) {
	case screenIntro:
		if err := p.greet(c, &v); err != nil {
			return err
		}
		return p.showIntro(c, v, l)
	case screenConsent:
		return p.askConsent(c, v, false)
	case screenCamera:
		return p.renderCamera(c, v)
	case screenDocument:
		if p.answered(c, v) { // its page was closed
			return p.onward(c, v, v.path+"/wallet")
		}
		return p.offerDocument(c, v)
	case screenPassed:
		return p.redirect(c, v)
	case screenFallback:
		return p.render(c, http.StatusOK, "fallback", p.fallbackOf(v))
	case screenSpoof:
		ways, err := p.choices(c, v)
		if err != nil {
			return err
		}
		return p.render(c, http.StatusOK, "spoof", introOf(v, l, ways))
	case screenElsewhere:
		view := p.noticeOf(v, "elsewhere")
		view.Answered = p.answered(c, v)
		return p.render(c, http.StatusOK, "notice", view)
	case screenExpired:
		return p.notice(c, http.StatusGone, "expired", v)
	case screenUsedUp:
		return p.showUsedUp(c, v)
	case screenUnavailable:
		return p.notice(c, http.StatusServiceUnavailable, "not_available", v)
	default:
		return p.notice(c, http.StatusOK, "completed", v)
	}
}

// showUsedUp ends the camera check of a session without attempts left, and writes the page that follows. Usually the
// last attempt ends the check itself, but it cannot if its server has stopped.
func (p *Pages) showUsedUp(c echo.Context, v visit) (err error) {
	v.sess, err = p.cfg.Sessions.EndAttempt(c.Request().Context(), v.sess, "")
	if err != nil && !isLate(err) {
		return err
	}
	if p.screenOf(v) == screenUsedUp {
		return fault.New(fault.Unavailable, "The session did not move on")
	}
	return p.showState(c, v)
}

// redirect sends the browser that passed to the merchant. If the time for the redirect
// is over, it says that the check is complete.
func (p *Pages) redirect(c echo.Context, v visit) error {
	url, ok, err := p.cfg.Sessions.Redirect(c.Request().Context(), v.sess, v.cookie)
	if err != nil {
		return err
	}
	if !ok {
		return p.notice(c, http.StatusOK, "completed", v)
	}
	h := c.Response().Header()
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	return c.Redirect(http.StatusSeeOther, url)
}

// onward redirects to path. After a pass it writes a page instead, which says so and then leads to the merchant by
// itself. A form must not be answered with a redirect to the merchant: browsers apply form-action to every redirect
// after a form, and the policy does not name the merchant's site.
func (p *Pages) onward(c echo.Context, v visit, path string) error {
	if p.screenOf(v) == screenPassed {
		return p.render(c, http.StatusOK, "onward", introOf(v, p.layoutOf(v), nil))
	}
	return c.Redirect(http.StatusSeeOther, path)
}

// exit holds who asks for the check, for which age, and the links back to the merchant.
type exit struct {
	Merchant  string
	TargetAge int
	Leave     string // the session's cancel URL
	Review    string // where the merchant takes requests for a review; may be empty
}

func exitOf(v visit) exit {
	return exit{Merchant: v.merchant(), TargetAge: v.sess.TargetAge, Leave: v.sess.CancelURL,
		Review: v.tenant.Links.ReviewURL}
}

// reason is why a check was refused, as the page of the refusal shows it.
type reason string

// The reasons, whose texts are fallback.<reason>.
const (
	whyEstimate   reason = "estimate"    // the estimate was not far enough above the limit
	whyNoEstimate reason = "no_estimate" // the camera check ended without one
	whyNoCamera   reason = "no_camera"   // so, and the camera gave no pictures
	whyDocument   reason = "document"    // the document check was not passed
	whyNoPerson   reason = "no_person"   // no live person was confirmed beside the document
	whyDeclined   reason = "declined"    // the shopper ended the document check and showed nothing
)

var reasons = []reason{whyEstimate, whyNoEstimate, whyNoCamera, whyDocument, whyNoPerson, whyDeclined}

// whyOf returns why a session ended in FALLBACK. It reveals nothing that the shopper did not see.
func whyOf(v visit) reason {
	s, forced := v.sess, v.tenant.DocumentOnly && v.sess.Source == session.SourceForced
	switch {
	case (s.DocumentOpenedAt != nil || forced) && s.Shown() == "": // also where a test left the document out
		return whyDeclined
	case s.Source == session.SourceDocument && s.Why() == session.WhyUnlive:
		return whyNoPerson
	case s.DocumentOpenedAt != nil:
		return whyDocument
	case s.Source == session.SourceCamera && s.Basis.Cutoff == nil:
		return whyNoEstimate
	}
	return whyEstimate
}

type fallbackView struct {
	layout
	exit
	Why     reason
	Refused string // why the last document was
	Said    string // the key of why the last way gave no result; empty if the page does not name it
	Trouble string // why the camera gave no pictures at last, of session.Troubles; empty if it did or it explains nothing
	// CameraFirst is whether another try is to begin with the camera although this one ended with documents.
	CameraFirst bool
}

// fallbackOf returns the page of a refusal. About a camera without pictures, it says the same as support's page.
func (p *Pages) fallbackOf(v visit) *fallbackView {
	story := insight.StoryOf(v.sess, p.cfg.Sessions.Now())
	view := &fallbackView{layout: p.layoutOf(v), exit: exitOf(v), Why: whyOf(v), Refused: story.Refused}
	kind, _, _ := session.Setback{Why: story.Why}.Note()
	switch {
	case view.Why == whyDocument && (kind == session.NoteWallet || kind == session.WhyDoubtful),
		view.Why == whyNoEstimate && slices.Contains(insight.Explained, kind):
		view.Said = insight.Said(story.Why)
	case view.Why == whyDocument && view.Refused != "":
		view.Said = insight.Said(session.NoteDocument + "_" + view.Refused)
	}
	trouble := story.Trouble()
	if trouble == "" || view.Why == whyEstimate || view.Refused == string(wallet.ReasonUnderAge) {
		return view
	}
	view.Trouble = trouble
	view.CameraFirst = trouble != session.TroubleBlocked && view.Why == whyDeclined && v.sess.Basis.Cutoff == nil
	if trouble != session.TroubleBlocked && view.Why == whyNoEstimate && v.sess.BegunAt == nil {
		view.Why = whyNoCamera
	}
	return view
}

func (p *Pages) layoutOf(v visit) layout {
	test := !v.sess.Livemode
	forcible := test && p.status(v) == session.StatusPending
	return layout{
		left: v.sess.ExpiresAt.Sub(p.cfg.Sessions.Now()), look: lookOf(v), Path: v.path, Test: test,
		Forcible: forcible, Spoofable: forcible && !v.sess.WithoutCamera(v.tenant),
		Provable: forcible && v.tenant.OffersDocument() && !v.sess.WithoutCamera(v.tenant),
	}
}

type consentView struct {
	layout
	exit
	Ticked bool
}

func (p *Pages) askConsent(c echo.Context, v visit, ticked bool) error {
	view := &consentView{layout: p.layoutOf(v), exit: exitOf(v), Ticked: ticked}
	view.Form = v.path + "/consent"
	return p.render(c, http.StatusOK, "consent", view)
}

// consent answers POST /v/{token}/consent: whether the estimate may be shared, or, with
// lang, the page in another language.
func (p *Pages) consent(c echo.Context, v visit) error {
	share := c.FormValue("share") == "yes"
	if c.QueryParam("lang") != "" {
		return p.askConsent(c, v, share)
	}
	err := p.cfg.Sessions.Consent(c.Request().Context(), v.sess, share)
	if err != nil && !isLate(err) {
		return err
	}
	return p.onward(c, v, v.path+"/camera")
}
