package shopper

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/check/document"
	"agegate/internal/check/document/photo"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"

	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"
)

// photoView explains what is read and compared, and asks for consent.
type photoView struct {
	layout
	exit
	OtherWay bool // the choice that the page leads back to has another way
	Ticked   bool
	Missing  bool // the form came without consent
}

// photographable reports whether this browser may photograph a document now.
func (p *Pages) photographable(v visit) bool { return p.agreeable(v) && v.sess.FaceMatchAt != nil }

// agreeable reports whether this browser may photograph a document, once the
// shopper has agreed to the comparison of faces.
func (p *Pages) agreeable(v visit) bool {
	return p.screenOf(v) == screenDocument && p.allowsPhoto(v)
}

func (p *Pages) allowsPhoto(v visit) bool {
	return p.cfg.Photos != nil && v.tenant.Allows(string(session.WayPhoto)) && p.cfg.Photos.Available(v.sess)
}

// showPhoto answers GET /v/{token}/photo: the request for consent, then the camera.
func (p *Pages) showPhoto(c echo.Context, v visit) error {
	if v.sess.FaceMatchAt == nil {
		return p.askPhoto(c, v, photoView{})
	}
	view, err := p.photoCameraOf(c, v)
	if err != nil {
		return err
	}
	return p.render(c, http.StatusOK, "camera", view)
}

func (p *Pages) askPhoto(c echo.Context, v visit, view photoView) error {
	ways, err := p.ways(c, v)
	if err != nil {
		return err
	}
	view.layout, view.exit, view.OtherWay = p.layoutOf(v), exitOf(v), len(ways) > 1
	view.Form = v.path + "/photo"
	return p.render(c, http.StatusOK, "photo", &view)
}

// agreePhoto answers POST /v/{token}/photo: the shopper agrees to the comparison of the
// faces, or, with lang, wants the page in another language.
func (p *Pages) agreePhoto(c echo.Context, v visit) error {
	agreed := c.FormValue("compare") == "yes"
	if translated := c.QueryParam("lang") != ""; translated || !agreed {
		return p.askPhoto(c, v, photoView{Ticked: agreed, Missing: !translated})
	}
	err := p.cfg.Photos.Consent(c.Request().Context(), v.sess)
	if errors.Is(err, session.ErrAnswered) {
		return p.onward(c, v, v.path+"/wallet")
	}
	if err != nil && !isLate(err) {
		return err
	}
	return p.onward(c, v, v.path+"/photo")
}

// photoCameraOf returns the view of the camera page for a document.
func (p *Pages) photoCameraOf(c echo.Context, v visit) (*cameraView, error) {
	ways, err := p.ways(c, v)
	if err != nil {
		return nil, err
	}
	view := p.cameraViewOf(c, v)
	view.Photo, view.Why, view.Left = true, "", v.sess.DocumentsLeft()
	view.Camera, view.Back, view.OtherWay = v.path+"/photo", v.path, len(ways) > 1
	if outcome := photo.Outcome(c.QueryParam("refused")); outcome == photo.Doubtful || v.sess.DocumentAttempts > 0 &&
		slices.Contains(photo.Refusals, outcome) {
		view.Refused = outcome
	}
	return view, nil
}

// filming is the check of a document together with what it writes to its session.
type filming struct {
	*document.Recording
	pages *Pages
	visit visit
	stage photo.Stage // of the last frame; empty before one, and after an outcome
}

// take implements exam.
func (f *filming) take(ctx context.Context, frame age.Frame) (photo.Step, *onwardMessage, error) {
	step, err := f.Add(ctx, frame)
	if err != nil {
		return step, nil, err
	}
	if f.stage = step.Stage; step.Outcome != "" {
		f.stage = ""
	}
	onward, err := f.record(context.WithoutCancel(ctx), step, frame.Received)
	return step, onward, unwritten(err)
}

// record writes the effect of a step on the session, for a frame that came at a time. It
// returns the last message of the stream, or nil while the stream continues.
func (f *filming) record(ctx context.Context, step photo.Step, came time.Time) (*onwardMessage, error) {
	onward := &onwardMessage{Next: "reload"}
	var err error
	if step.Outcome == photo.Doubtful || slices.Contains(photo.Refusals, step.Outcome) {
		// A refusal counts even if no camera time is left or the consent was withdrawn.
		// It is written only once, because it would count again.
		onward.Refused, err = string(step.Outcome), f.Settle(ctx, step.Outcome)
	} else if err = f.Pay(ctx, came); err == nil {
		if step.Outcome == "" {
			return nil, nil
		}
		err = persist(ctx, func() error { return f.Settle(ctx, step.Outcome) })
	}
	if isLate(err) || isDisabled(err) || fault.CodeOf(err) == fault.TooMany {
		return &onwardMessage{Next: "reload"}, nil
	}
	return onward, err
}

// finish implements exam. A check without an outcome has changed nothing; its note helps support staff only.
func (f *filming) finish(ctx context.Context, code websocket.StatusCode) (returned bool) {
	if f.stage != "" && !unserved(code) && code != closeTakenOver {
		_ = f.pages.cfg.Sessions.Note(ctx, f.visit.sess, f.visit.claim, session.NotePhoto+"_"+string(f.stage))
	}
	return unserved(code)
}
