package shopper

import (
	"net/http"
	"slices"
	"strings"

	"agegate/internal/check/document/photo"
	"agegate/internal/rules/session"

	"github.com/labstack/echo/v4"
)

type cameraView struct {
	layout
	exit
	Camera   string        // path of this page
	Handover string        // path of the hand-over to a phone; empty if there is none
	Without  string        // path of the form that continues without the camera
	Document bool          // a document follows then
	Wallet   bool          // or a wallet, which works without scripts
	OnPhone  bool          // this is the phone of a hand-over
	Photo    bool          // a document is filmed first
	Back     string        // path of the choice between the ways of the document check; empty on a phone
	OtherWay bool          // the choice has another way
	Refused  photo.Outcome // why the last document was refused; empty if none was
	Asked    bool          // the merchant's page stood for the introduction
	Why      string        // why the last attempt gave no result; empty if none ended
	Eased    bool          // the shopper has just chosen help, which replaces Why's words
	Left     int           // attempts left, or documents
	Troubles []string
	Browser  string // one of families; may be empty
	// DeviceFirst is whether another device comes before this one's camera: this one is a computer without any.
	DeviceFirst bool
}

// cameraFiles are the script of the camera page and everything that it imports. They are loaded at once, while the
// introduction is read, because each import costs a slow network's full delay.
var cameraFiles = []string{
	"camera.js", "announce.js", "dom.js", "extend.js", "guide.js", "machine.js", "media.js", "signal.js", "stream.js",
}

// troubles are the screens of the camera page that say why the check has
// stopped and how it can go on. The texts are trouble.<kind>.title, .body and .action.
var troubles = append(slices.Clip(session.Troubles), awaited...)

// troubleView is one trouble screen. Handover and Without are empty if waiting helps.
type troubleView struct {
	exit
	Kind      string
	Handover  string
	Without   string
	Document  bool // follows Without
	Back      string
	OtherWay  bool
	Body      string // the key of the text
	LinkFirst bool   // another browser of this device can do what this one cannot
	Told      bool   // the page tells the server about it
	// DeviceFirst is whether another device can do what this one cannot.
	DeviceFirst bool
}

// awaited are the troubles that end by themselves, or by an act in another tab.
var awaited = []string{"network", "waiting", "other_tab"}

// troubleOf returns the view of one trouble screen of a camera page.
func troubleOf(v *cameraView, kind string) troubleView {
	if slices.Contains(awaited, kind) {
		return troubleView{exit: v.exit, Kind: kind, Body: "trouble." + kind + ".body", Back: v.Back, OtherWay: v.OtherWay}
	}
	t := troubleView{
		exit: v.exit, Kind: kind, Body: "trouble." + kind + ".body", Handover: v.Handover, Without: v.Without,
		Document: v.Document, Back: v.Back, OtherWay: v.OtherWay, Told: true,
		LinkFirst: (kind == "embedded" || kind == "unreadable") && v.Handover != "",
	}
	switch {
	case kind == "refused" && v.Browser != "":
		t.Body = "trouble.refused." + v.Browser
	case kind == "missing" && t.Handover != "" && slices.Contains(computers, v.Browser):
		t.Body, t.DeviceFirst = "trouble.missing.computer", true
	}
	return t
}

// families are the browsers for which trouble.refused.<family> says how a blocked camera is allowed.
var families = append([]string{"ios", "android"}, computers...)

// computers are the families that are not of phones and tablets.
var computers = []string{"firefox", "chrome", "safari"}

// familyOf returns the family of a browser from its User-Agent header, or "". All
// browsers on iPhones allow a camera in the same way, and most browsers on Android do.
func familyOf(userAgent string) string {
	for _, mark := range []struct{ of, family string }{
		{"iPhone", "ios"}, {"iPad", "ios"}, {"Android", "android"}, {"Firefox/", "firefox"}, {"Chrome/", "chrome"},
		{"Safari/", "safari"},
	} {
		if strings.Contains(userAgent, mark.of) {
			return mark.family
		}
	}
	return ""
}

// mobile reports whether the browser is on a phone or a tablet.
func mobile(c echo.Context) bool {
	return slices.Contains([]string{"ios", "android"}, familyOf(c.Request().UserAgent()))
}

// renderCamera answers GET /v/{token}/camera with the camera step. After the check, the
// page leads to the page of the result. After a pass, it first says so for a moment.
func (p *Pages) renderCamera(c echo.Context, v visit) error {
	view, err := p.ageCameraOf(c, v)
	if err != nil {
		return err
	}
	return p.render(c, http.StatusOK, "camera", view)
}

// ageCameraOf returns the view of the camera page for the face.
func (p *Pages) ageCameraOf(c echo.Context, v visit) (*cameraView, error) {
	ways, err := p.choices(c, v)
	if err != nil {
		return nil, err
	}
	view := p.cameraViewOf(c, v)
	view.Without, view.Document = v.path+"/without-camera", len(ways) > 0
	view.Wallet, view.Asked = slices.Contains(ways, session.WayWallet), c.QueryParams().Has("asked")
	return view, nil
}

// cameraViewOf returns what the camera pages for a face and for a document have in common.
func (p *Pages) cameraViewOf(c echo.Context, v visit) *cameraView {
	view := &cameraView{
		layout: p.layoutOf(v), exit: exitOf(v), Camera: v.path + "/camera",
		Why: v.sess.Why(), Left: v.sess.AttemptsLeft(), Troubles: troubles,
		Browser: familyOf(c.Request().UserAgent()), Eased: c.QueryParams().Has("eased"),
	}
	if p.cfg.Handovers != nil {
		view.Handover = v.path + "/handover"
		view.DeviceFirst = slices.Contains(computers, view.Browser) &&
			slices.ContainsFunc(v.sess.Setbacks, func(b session.Setback) bool { return b.Why == session.NoteBrowser+"_missing" })
	}
	return view
}

// goWithout answers POST /v/{token}/without-camera. It ends the camera check of a visit
// that may make the check. The cutoff counts as not met.
func (p *Pages) goWithout(c echo.Context, v visit) (err error) {
	if p.capturable(v) {
		v.sess, err = p.cfg.Sessions.Resolve(c.Request().Context(), v.sess, session.NoEstimate(v.claim))
		if err != nil && !isLate(err) {
			return err
		}
	}
	return p.onward(c, v, v.path)
}

// trouble answers POST …/trouble/{kind}: the page says why its camera gives no pictures.
func (p *Pages) trouble(c echo.Context, v visit) error {
	if !slices.Contains(session.Troubles, c.Param("kind")) {
		return echo.ErrNotFound
	}
	if p.filmable(v) {
		err := p.cfg.Sessions.Note(c.Request().Context(), v.sess, v.claim, session.NoteBrowser+"_"+c.Param("kind"))
		if err != nil && !isLate(err) {
			return err
		}
	}
	return c.NoContent(http.StatusNoContent)
}

// assisted reports that the shopper chose "I cannot move my head".
func assisted(c echo.Context) bool { return c.QueryParam("assisted") == "1" }

// capturable reports whether this browser may make a camera check now. The
// consent screen is shown before the camera but does not have to be answered.
func (p *Pages) capturable(v visit) bool {
	s := p.screenOf(v)
	return s == screenCamera || s == screenConsent
}
