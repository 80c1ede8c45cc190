package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

type cameraView struct {
	layout
	outcome
	TargetAge int
	Again     bool // an earlier attempt of this session ended without a result
	Left      int  // attempts left
	Assisted  bool // the shopper cannot move their head
	Troubles  []string
}

// troubles are the screens of the camera page that say why it cannot go on
// and how it can. The texts are trouble.<kind>.title, .body and .action.
var troubles = []string{
	"missing", "refused", "in_use", "insecure", "embedded", "unplugged", "failed", "network", "waiting", "other_tab",
}

type troubleView struct {
	outcome
	Kind string
}

// troubleOf is the view of one trouble screen of a camera page.
func troubleOf(v *cameraView, kind string) troubleView {
	return troubleView{outcome: v.outcome, Kind: kind}
}

// showCamera answers GET /v/{token}/camera, the camera step.
func (p *Pages) showCamera(c echo.Context) error {
	v, err := p.visit(c)
	if err != nil {
		return err
	}
	if !p.capturable(v) {
		return c.Redirect(http.StatusSeeOther, v.link)
	}
	return p.renderCamera(c, v)
}

func (p *Pages) renderCamera(c echo.Context, v visit) error {
	return p.render(c, http.StatusOK, "camera", &cameraView{
		layout: p.layoutOf(v), outcome: outcomeOf(v), TargetAge: v.sess.TargetAge,
		Again: v.sess.Attempts > 0, Left: v.sess.AttemptsLeft(), Assisted: assisted(c),
		Troubles: troubles,
	})
}

// assisted reports that the page's "I cannot move my head" was followed.
func assisted(c echo.Context) bool { return c.QueryParam("assisted") == "1" }

// capturable reports whether this browser may make a camera check now. The
// consent screen comes before the camera but is no condition of it.
func (p *Pages) capturable(v visit) bool {
	s := p.screenOf(v)
	return s == screenCamera || s == screenConsent
}
