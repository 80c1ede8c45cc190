package shopper

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
)

type cameraView struct {
	layout
	exit
	Camera   string // path of this page
	Handover string // path of the hand-over to a phone; empty when there is none
	OnPhone  bool   // this is the phone of a hand-over
	Again    bool   // an earlier attempt of this session ended without a result
	Left     int    // attempts left
	Troubles []string
}

// troubles are the screens of the camera page that say why the check has
// stopped and how it can go on. The texts are trouble.<kind>.title, .body and .action.
var troubles = []string{
	"missing", "refused", "in_use", "frozen", "insecure", "embedded", "unplugged", "failed", "network", "waiting", "other_tab",
}

type troubleView struct {
	exit
	Kind     string
	Handover string
}

// handoverHelps are the troubles whose screens offer another device.
var handoverHelps = []string{"missing", "refused", "in_use", "frozen", "insecure", "embedded", "failed"}

// troubleOf is the view of one trouble screen of a camera page.
func troubleOf(v *cameraView, kind string) troubleView {
	t := troubleView{exit: v.exit, Kind: kind}
	if slices.Contains(handoverHelps, kind) {
		t.Handover = v.Handover
	}
	return t
}

// showCamera answers GET /v/{token}/camera, the camera step.
func (p *Pages) showCamera(c echo.Context) error {
	v, err := p.visit(c)
	if err != nil {
		return err
	}
	if !p.capturable(v) {
		return c.Redirect(http.StatusSeeOther, v.path)
	}
	return p.renderCamera(c, v)
}

func (p *Pages) renderCamera(c echo.Context, v visit) error {
	return p.render(c, http.StatusOK, "camera", p.cameraViewOf(v))
}

func (p *Pages) cameraViewOf(v visit) *cameraView {
	view := &cameraView{
		layout: p.layoutOf(v), exit: exitOf(v), Camera: v.path + "/camera",
		Again: v.sess.Attempts > 0, Left: v.sess.AttemptsLeft(), Troubles: troubles,
	}
	if p.cfg.Handovers != nil {
		view.Handover = v.path + "/handover"
	}
	return view
}

// assisted reports that the shopper chose "I cannot move my head".
func assisted(c echo.Context) bool { return c.QueryParam("assisted") == "1" }

// capturable reports whether this browser may make a camera check now. The
// consent screen comes before the camera but is no condition of it.
func (p *Pages) capturable(v visit) bool {
	s := p.screenOf(v)
	return s == screenCamera || s == screenConsent
}
