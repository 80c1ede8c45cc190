package dashboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/evidence"
	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
)

const (
	sessionPath = sessionsPath + "/:session"
	deletePath  = sessionPath + "/delete"
	receiptPath = sessionPath + "/receipt"
)

// errKept refuses to delete a session now; see sessionView.Kept.
var errKept = fault.New(fault.Conflict, "The session is kept for now")

var deleteForm = &desk.Form{Name: "delete_session", Again: true, Problems: map[error]string{errKept: "refused"}}

func (p *Pages) session() desk.Feature {
	why := slices.Concat(setbacks, []string{session.WhyUnlive, session.NoteOther}, noteKeys)
	keys := slices.Concat(
		page.Keys("timeline.",
			insight.MomentCreated, insight.MomentOpened, insight.MomentConsented, insight.MomentBegun, insight.MomentSetback,
			insight.MomentSaid, insight.MomentLast, insight.MomentOther, insight.MomentHandover,
			insight.MomentJoined, insight.MomentFaceless,
			insight.MomentCamera, insight.MomentNoCamera, insight.MomentDocument, insight.MomentResult, insight.MomentExpired,
			insight.MomentRedirected),
		page.Keys("held.", insight.HeldKeys()...),
		page.Keys("timeline.setback_", why...), page.Keys("story.setback_", why...),
		page.Keys("timeline.camera_", cameraEnds...),
		page.Keys("way.", session.WayWallet, session.WayPhoto), page.Keys("session.offers_", "camera", "no_camera",
			"document", "no_document", string(session.WayWallet), string(session.WayPhoto)),
		page.Keys("timeline.document_", append(slices.Clip(unproved), insight.DocumentProved)...),
		page.Keys("estimate.", session.AvailabilityNotConsented, session.AvailabilityPending,
			session.AvailabilityNotEstimated, session.AvailabilityAvailable),
		page.Keys("timeline.class.", deliveryClasses[1:]...), page.Keys("story.class_", deliveryClasses...),
	)
	f := desk.Feature{
		Routes: []desk.Route{
			{Method: http.MethodGet, Path: sessionPath, MinRole: desk.Reader, Handle: p.showSession},
			{Method: http.MethodGet, Path: receiptPath, MinRole: desk.Prover, Handle: p.downloadReceipt},
		},
		Screens: []string{"session"},
		Keys:    append(keys, storyKeys()...),
	}
	f.Ask(desk.Route{Path: deletePath, MinRole: desk.Owner, StepUp: desk.Always}, deleteForm, p.deleteSession)
	return f
}

// sessionView is the view of one session. It has no estimated age.
type sessionView struct {
	desk.Layout
	Replies []reply // what to write to the shopper, in each language; none about a test
	insight.Record
	Shop   tenant.Tenant
	Now    time.Time
	Offers []page.Text // what its check offers now at the target age
	State  statusView
	Curl   string
	// Base is the public base of all pages; List and Events are the addresses of the list and above those of events.
	Base, List, Events string
	Delete             string // address of the deletion, for owners
	// Receipt is the address of the signed receipt. It is empty without a result, and
	// for users without the right account.Prove.
	Receipt  string
	Margins  string                  // address of the margins, for those who set them
	Evidence string                  // address of the evidence packs, for those who make them
	Forced   []outcomeView           // links that force a result, in test mode
	Clock    *clockView              // in test mode
	Same     records[sessionRowView] // the newest with the same order, this one too; empty without others
	Passed   *sessionRowView         // the one of them whose pass counts for the shopper, or nil
	Pruned   *time.Time              // when it is deleted by itself; nil for never
	asks     bool                    // the shopper says that the shop does not know of the result
	timelineView
}

// Cutoff is the age in years that an estimate had to reach; may be 0.
func (v *sessionView) Cutoff() float64 { return *cmp.Or(v.Basis.Cutoff, new(float64)) }

// Estimated is the key of what is known of the estimate.
func (v *sessionView) Estimated() string {
	switch {
	case v.Estimate != session.AvailabilityNotConsented:
		return "estimate." + string(v.Estimate)
	case v.Story.Forced && !v.Story.Begun:
		return "estimate.forced"
	case v.Source == session.SourceReceiver:
		return "estimate.receiver"
	case !v.Shop.AgeVisibility:
		return "estimate.unasked"
	case v.Basis.Cutoff != nil:
		return "estimate.not_consented"
	case v.Status == session.StatusPending && !v.Story.Offered:
		return "estimate.pending"
	}
	return "estimate.not_estimated"
}

// DecidedBy is the key of who decided, or "" while nobody has.
func (v *sessionView) DecidedBy() string { return decidedText(v.Source, v.Status, v.Story.Way) }

// Kept reports that the session is not deleted yet: it is open, or its webhook is still to be delivered.
func (v *sessionView) Kept() bool {
	return !v.Status.Terminal() || v.Event != nil &&
		(v.Event.Status == webhook.StatusPending || v.Event.Status == webhook.StatusWaiting)
}

// Told is what happened, in sentences.
func (v *sessionView) Told() storyView {
	return storyView{v.Story, v.TargetAge, v.Untold(), v.Shop.Disabled, v.Shop.DocumentCheck, v.ExpiresAt}
}

// Untold reports that the shop was not told of the result, or not yet because an attempt failed.
func (v *sessionView) Untold() bool {
	return v.Event != nil && (v.Event.Status == webhook.StatusFailed || v.Event.Status == webhook.StatusWaiting ||
		v.Event.Status == webhook.StatusPending && v.Event.LastClass != "")
}

// instead reports that another check of the order passed for this age, so that the shopper has nothing more to do here.
// A document of somebody too young is only followed by a later one.
func (v *sessionView) instead(other sessionRowView) bool {
	return v.Status != session.StatusPassed && other.Status.Status == session.StatusPassed &&
		other.TargetAge >= v.TargetAge && (v.Story.Refused != "under_age" || other.ID.String() > v.ID.String())
}

// timelineView is a session's timeline.
type timelineView struct {
	Moments []momentView
	Act     *eventAct // of the webhook of its last attempt
}

// newTimeline returns the timeline of a session, with what can be done about its webhook.
func newTimeline(r *desk.Request, list []insight.Moment) (v timelineView, err error) {
	for _, m := range list {
		one := momentView{Moment: m, Tone: "plain"}
		if m.Event != nil {
			one.Href = eventsPath(r) + m.Event.ID
		}
		switch {
		case m.Kind == insight.MomentResult || m.Kind == insight.MomentExpired:
			one.Tone = statusView{m.Status}.Tone()
		case m.Attempt != nil && m.Attempt.Class == "delivered":
			one.Tone = "good"
		case m.Attempt != nil:
			one.Tone = "bad"
		}
		v.Moments = append(v.Moments, one)
	}
	if at := slices.IndexFunc(list, func(m insight.Moment) bool { return m.Event != nil }); at >= 0 {
		v.Act, err = newEventAct(r, *list[at].Event)
	}
	return v, err
}

// momentView is a line of a timeline.
type momentView struct {
	insight.Moment
	Tone string
	Href string // of its webhook event
}

// Text returns the catalogue key of the text that the timeline shows for the moment.
func (v momentView) Text() string { return "timeline." + string(v.Kind) }

// Milliseconds is how long the attempt took, at least one.
func (v momentView) Milliseconds() int64 { return max(1, v.Attempt.Latency.Milliseconds()) }

// Delivered reports whether a webhook was answered with a 2xx status.
func (v momentView) Delivered() bool { return v.Tone == "good" }

// record returns the session in the path, if it belongs to the request's tenant and mode.
func (p *Pages) record(r *desk.Request) (insight.Record, error) {
	id, err := r.ID("session")
	if err != nil {
		return insight.Record{}, err
	}
	return p.cfg.Insight.Session(r.Ctx(), r.Scope(), id)
}

func (p *Pages) showSession(r *desk.Request) error {
	record, err := p.record(r)
	if fault.CodeOf(err) == fault.NotFound {
		return p.showInOtherMode(r, err)
	}
	if err != nil {
		return err
	}
	v := &sessionView{Record: record, Shop: r.Tenant, State: statusView{record.Status}, Now: p.cfg.Now().UTC()}
	v.Base, v.List, v.Events, v.Docs = p.cfg.URL, r.Href(sessionsPath), eventsPath(r), r.Docs()
	if v.timelineView, err = newTimeline(r, record.Timeline); err != nil {
		return err
	}
	if p.cfg.Retention > 0 {
		v.Pruned = new(record.CreatedAt.Add(p.cfg.Retention))
	}
	if err = p.tell(r, r.Scope(), v); err != nil {
		return err
	}
	if r.Part() != "" {
		return r.Show(http.StatusOK, "session", v)
	}
	v.Clock = newClock(r, record)
	v.Curl = fmt.Sprintf("curl -s %s/api/v1/sessions/%s/status \\\n  -H \"X-API-Key: $AGEGATE_API_KEY\"", p.cfg.APIURL,
		record.ID)
	v.Margins, v.Evidence = r.Editing(marginsPath), r.Editing(evidencePath)
	if v.Offers, err = p.offersOf(r, r.Tenant, v.TargetAge, record.Livemode); err != nil {
		return err
	}
	if r.May(account.Own) {
		v.Delete = objectPath(r, deletePath)
	}
	if record.CompletedAt != nil && r.May(account.Prove) {
		v.Receipt = objectPath(r, receiptPath)
	}
	if v.Forced, err = p.outcomes(r, record); err != nil {
		return err
	}
	return r.Show(http.StatusOK, "session", v)
}

// tell fills in the other checks of a session's order, and what to write to the shopper.
func (p *Pages) tell(r *desk.Request, scope insight.Scope, v *sessionView) error {
	if v.OrderRef != "" {
		same, err := p.cfg.Insight.Find(r.Ctx(), scope, insight.Order, v.OrderRef, maxHits)
		if err != nil {
			return err
		}
		if len(same) > 1 {
			v.Same = newRows(same, v.List)
		}
	}
	told := v.Told()
	if at := slices.IndexFunc(v.Same, v.instead); at >= 0 {
		v.Passed = &v.Same[at]
		told = storyView{Story: insight.Story{Status: session.StatusPassed, Test: told.real().Test}}
		proved := *cmp.Or(v.Passed.CompletedAt, &v.Passed.CreatedAt)
		told.untold = v.Passed.Untold || cmp.Or(v.CompletedAt, &time.Time{}).After(proved) // the shop may go by this one
	}
	told.untold = told.untold || v.asks
	v.Replies = p.replies.of(told, p.cfg.Now().In(r.Zone()))
	order := slices.Concat(v.Shop.Languages, tenant.Languages) // those that the shop offers come first
	slices.SortFunc(v.Replies, func(a, b reply) int {
		return cmp.Compare(slices.Index(order, a.Tag), slices.Index(order, b.Tag))
	})
	return nil
}

// offersOf says what a tenant's check offers for a target age in a mode.
func (p *Pages) offersOf(r *desk.Request, t tenant.Tenant, target int, livemode bool) ([]page.Text, error) {
	camera := page.Say("session.offers_camera", "years", float64(target)+t.Margin(target, p.cfg.Tenants.Margin))
	if t.DocumentOnly {
		camera = page.Say("session.offers_no_camera")
	}
	ways, err := p.cfg.Ways(r.Ctx(), t, livemode)
	by := append(ways, "no_document")[0]
	if len(ways) > 1 {
		by = "document"
	}
	return []page.Text{camera, page.Say("session.offers_" + string(by))}, err
}

// showInOtherMode redirects to the page of the session in the path if the session is of the other mode and the log-in
// may open that mode. Of a deleted one it says when that was. Otherwise it returns missing.
func (p *Pages) showInOtherMode(r *desk.Request, missing error) error {
	id, err := r.ID("session")
	if err != nil {
		return err
	}
	link, err := p.sessionLink(r, id)
	if err != nil || link != nil {
		return leadTo(r, link, err, missing)
	}
	v := &pasteView{Of: "paste", Lost: true}
	f, err := r.Blank(pasteForm)
	if err = cmp.Or(p.findDeleted(r, v, id.String()), err); err != nil || v.Nothing.Key == "" {
		return cmp.Or(err, missing)
	}
	return v.question(r, nil).Show(http.StatusNotFound, f)
}

// leadTo redirects to the page of a link and names its mode. It returns err if that is
// not nil, and missing if link is nil.
func leadTo(r *desk.Request, link *recordLink, err, missing error) error {
	if link == nil {
		return cmp.Or(err, missing)
	}
	return r.Done(link.Href, noticeOf(r, link))
}

// downloadReceipt answers with the session's signed receipt.
func (p *Pages) downloadReceipt(r *desk.Request) error {
	record, err := p.record(r)
	if err != nil {
		return err
	}
	receipt, err := p.cfg.Evidence.Receipt(r.Ctx(), r.Access.TenantID(), record.ID)
	if errors.Is(err, evidence.ErrNoResult) {
		return fault.New(fault.NotFound, "The session has no result")
	}
	if err != nil {
		return err
	}
	return r.Download("application/jwt", record.ID.String()+".jwt", func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, receipt+"\n")
		return err
	})
}

// eventsPath returns the path above the pages of webhook events.
func eventsPath(r *desk.Request) string { return r.Href(webhooksPath) + "/events/" }

// objectPath fills in a pattern that also contains the request's session.
func objectPath(r *desk.Request, pattern string) string {
	return strings.Replace(r.Href(pattern), ":session", r.Param("session"), 1)
}

func (p *Pages) deleteSession(r *desk.Request) (*desk.Question, error) {
	record, err := p.record(r)
	if err != nil {
		return nil, err
	}
	status, err := p.textsOf(r, statusView{record.Status}.Text())
	var kept error
	if (&sessionView{Record: record}).Kept() {
		kept = errKept
	}
	which := page.Say("delete_session.which", "order", cmp.Or(record.OrderRef, "–"), "at", stamp(r, record.CreatedAt),
		"status", strings.Join(status, ""))
	return &desk.Question{
		Values: []any{"id", record.ID.String()}, Back: objectPath(r, sessionPath),
		Facts: []page.Text{
			which, page.Say("delete_session.record"), page.Say("delete_session.event"),
			page.Say("delete_session.lookup"), page.Say("delete_session.kept"),
		},
		Check: func(*desk.FormView) error { return kept },
		Do: func(*desk.FormView) error {
			err := p.cfg.Records.Delete(r.Ctx(), r.Who.Actor(), r.Access.TenantID(), record.ID)
			if fault.CodeOf(err) == fault.Conflict {
				return errKept
			}
			return r.After(err, r.Href(sessionsPath), "session_deleted")
		},
	}, err
}
