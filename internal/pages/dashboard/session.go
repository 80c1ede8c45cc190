package dashboard

import (
	"fmt"
	"net/http"
	"strings"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/page"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
)

const (
	sessionPath = sessionsPath + "/:session"
	deletePath  = sessionPath + "/delete"
)

var deleteForm = &form{name: "delete_session", again: true}

func (p *Pages) session() feature {
	keys := []string{}
	for _, kind := range []insight.MomentKind{
		insight.MomentCreated, insight.MomentOpened, insight.MomentConsented, insight.MomentBegun, insight.MomentCamera,
		insight.MomentDocument,
		insight.MomentResult, insight.MomentExpired, insight.MomentRedirected,
	} {
		keys = append(keys, "timeline."+string(kind))
	}
	for _, key := range []insight.HeldKey{
		insight.HeldLink, insight.HeldLinkCopy, insight.HeldBrowser, insight.HeldPhone, insight.HeldCreated,
		insight.HeldOpened,
		insight.HeldBegun, insight.HeldRedirected, insight.HeldConsent, insight.HeldEstimate, insight.HeldDocument,
		insight.HeldPreferred, insight.HeldWay, insight.HeldRefusals, insight.HeldRequest, insight.HeldFaceMatch,
		insight.HeldFilmed, insight.HeldNext,
		insight.HeldAttempts, insight.HeldStrikes, insight.HeldResult, insight.HeldEvent,
	} {
		keys = append(keys, "held."+string(key))
	}
	for _, end := range cameraEnds {
		keys = append(keys, "timeline.camera_"+string(end))
	}
	for _, way := range []session.Way{session.WayWallet, session.WayPhoto} {
		keys = append(keys, "way."+string(way))
	}
	for _, end := range []insight.DocumentEnd{insight.DocumentProved, insight.DocumentRefused, insight.DocumentDeclined} {
		keys = append(keys, "timeline.document_"+string(end))
	}
	for _, a := range []session.Availability{
		session.AvailabilityNotConsented, session.AvailabilityPending, session.AvailabilityNotEstimated,
		session.AvailabilityAvailable,
	} {
		keys = append(keys, "estimate."+string(a))
	}
	for _, class := range []string{"status", "redirect", "dns", "blocked", "connect", "tls", "timeout"} {
		keys = append(keys, "timeline.class."+class)
	}
	f := feature{
		routes: []route{
			{method: http.MethodGet, path: sessionPath, minRole: reader, handle: p.showSession},
		},
		screens: []string{"session"},
		keys:    append(keys, storyKeys()...),
	}
	f.ask(route{path: deletePath, minRole: owner, stepUp: always}, deleteForm, p.deleteSession)
	return f
}

// sessionView is the view of one session. It has no estimated age.
type sessionView struct {
	layout
	insight.Record
	State  statusView
	Curl   string
	List   string
	Delete string        // address of the deletion, for owners
	Forced []outcomeView // links that force a result, in test mode
	Clock  *clockView    // in test mode
	Events string        // address of its webhook events
}

// Cutoff is the age in years that an estimate had to reach; may be empty.
func (v *sessionView) Cutoff() string {
	if v.Basis.Cutoff == nil {
		return ""
	}
	return fmt.Sprintf("%.1f", *v.Basis.Cutoff)
}

// Moments returns the timeline, for the template.
func (v *sessionView) Moments() []momentView { return newMoments(v.Timeline, v.Events) }

// Told is what happened, in sentences.
func (v *sessionView) Told() storyView { return storyView{v.Story} }

// momentView is a line of a timeline.
type momentView struct {
	insight.Moment
	Tone string
	Href string // of its webhook event
}

// Text is the key of the line's text.
func (v momentView) Text() string { return "timeline." + string(v.Kind) }

// State is the status of the line.
func (v momentView) State() statusView { return statusView{v.Status} }

// CameraText is the text for how the camera check ended.
func (v momentView) CameraText() page.Text { return page.Say("timeline.camera_" + string(v.Camera)) }

// Delivered reports whether a webhook was answered with a 2xx status.
func (v momentView) Delivered() bool { return v.Tone == "good" }

// newMoments returns the lines of a timeline. events is the path above the pages
// of webhook events.
func newMoments(list []insight.Moment, events string) []momentView {
	views := make([]momentView, len(list))
	for i, m := range list {
		views[i] = momentView{Moment: m, Tone: "plain"}
		if m.EventID != "" {
			views[i].Href = events + m.EventID
		}
		switch {
		case m.Kind == insight.MomentResult || m.Kind == insight.MomentExpired:
			views[i].Tone = statusView{m.Status}.Tone()
		case m.Attempt != nil && m.Attempt.Class == "delivered":
			views[i].Tone = "good"
		case m.Attempt != nil:
			views[i].Tone = "bad"
		}
	}
	return views
}

// record returns the session in the path, if it belongs to the request's tenant
// and mode.
func (r *request) record() (insight.Record, error) {
	id, err := r.id("session")
	if err != nil {
		return insight.Record{}, err
	}
	return r.pages.cfg.Insight.Session(r.ctx(), r.scope(), id)
}

func (p *Pages) showSession(r *request) error {
	record, err := r.record()
	if err != nil {
		return err
	}
	v := &sessionView{Record: record, State: statusView{record.Status}, List: r.path(sessionsPath), Events: r.events()}
	if r.part() != "" {
		return r.render(http.StatusOK, "session", v)
	}
	v.Clock = r.clock(record)
	v.Curl = fmt.Sprintf("curl -s %s/api/v1/sessions/%s/status \\\n  -H \"X-API-Key: $AGEGATE_API_KEY\"", p.cfg.APIURL,
		record.ID)
	if r.may(account.Own) {
		v.Delete = r.objectPath(deletePath)
	}
	if v.Forced, err = r.outcomes(record); err != nil {
		return err
	}
	return r.render(http.StatusOK, "session", v)
}

// events returns the path above the pages of webhook events.
func (r *request) events() string { return r.path(webhooksPath) + "/events/" }

// objectPath fills in a pattern that also contains the request's session.
func (r *request) objectPath(pattern string) string {
	return strings.Replace(r.path(pattern), ":session", r.Param("session"), 1)
}

func (p *Pages) deleteSession(r *request) (*question, error) {
	record, err := r.record()
	return &question{
		Values: []any{"id", record.ID.String()}, Back: r.objectPath(sessionPath),
		Facts: []page.Text{
			page.Say("delete_session.record"), page.Say("delete_session.event"),
			page.Say("delete_session.lookup"), page.Say("delete_session.kept"),
		},
		do: func(f *formView) error {
			err := p.cfg.Records.Delete(r.ctx(), r.who.Actor(), r.access.TenantID(), record.ID)
			if fault.CodeOf(err) == fault.Conflict {
				f.Fault = new(page.Say("delete_session.problem.refused"))
				return nil
			}
			if err != nil {
				return err
			}
			return r.done(r.path(sessionsPath), "session_deleted")
		},
	}, err
}
