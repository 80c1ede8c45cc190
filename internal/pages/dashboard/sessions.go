package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/session"

	"github.com/google/uuid"
)

const (
	sessionsPath       = overviewPath + "/sessions"
	sessionsExportPath = overviewPath + "/sessions.csv"
)

// sessionFields are the fields of the filter.
var sessionFields = []string{"id", "status", "age", "from", "to", "key"}

func (p *Pages) sessions() desk.Feature {
	return desk.Feature{
		Routes: []desk.Route{
			{Method: http.MethodGet, Path: sessionsPath, MinRole: desk.Reader, Handle: p.showSessions},
			{Method: http.MethodGet, Path: sessionsExportPath, MinRole: desk.Reader, Handle: p.exportSessions},
		},
		Screens: []string{"sessions"},
		Keys: slices.Concat([]string{untold.Text(), "sessions.id", "sessions.order"},
			page.Keys("status.", parts...), page.Keys("sessions.problem.", sessionFields...),
			page.Keys("source.", session.SourceCamera, session.SourceForced, session.SourceDocument, session.SourceReceiver,
				"declined", "no_document", "wallet", "photo"), page.Keys("sessions.expired_", stages...)),
	}
}

// What the search accepts in addition to a whole ID: the beginning of an ID, and an order in the query of the
// success URL, as 1042 or order=1042. Links and keys belong into the search, which is posted, because addresses
// are logged on their way.
var (
	idPrefix  = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F-]{0,27})?$`)
	orderText = regexp.MustCompile(`^=?[A-Za-z0-9][A-Za-z0-9._:=-]{1,63}$`)
)

// statusView is a session's status as a word and a shape.
type statusView struct{ Status session.Status }

// untold is the entry of the filter that selects sessions of which the shop was not told.
var untold = statusView{"UNTOLD"}

// Tone is the look of the status's badge.
func (v statusView) Tone() string {
	return cmp.Or(map[session.Status]string{session.StatusPassed: "good", session.StatusFallback: "warn",
		session.StatusSpoof: "bad"}[v.Status], "plain")
}

// Text is the key of the status's name.
func (v statusView) Text() string { return "status." + string(v.Status) }

type sessionRowView struct {
	insight.SessionRow
	Status statusView
	Href   string
}

// records are the rows of a list, whose first column names each by the merchant's order, if it has one, and by its ID.
type records[R interface{ Order() string }] []R

// Ordered reports whether any record has an order.
func (rows records[R]) Ordered() bool {
	return slices.ContainsFunc(rows, func(row R) bool { return row.Order() != "" })
}

// Order is the merchant's order, or "".
func (v sessionRowView) Order() string { return v.OrderRef }

// decidedBy says who decided a session, in the list, on its page and in the file alike: camera, forced, wallet,
// photo, document (by a way that was not stored) or no_document, if a document was asked for and none proved
// the age. It is receiver if a test of the receiver needs no decision, and "" while nobody has decided.
func decidedBy(source session.Source, status session.Status, way session.Way) string {
	switch {
	case source == session.SourceDocument && status == session.StatusFallback:
		return "no_document"
	case source == session.SourceDocument && way != "":
		return string(way)
	}
	return string(source)
}

// decidedText is the key of the text of decidedBy, or "".
func decidedText(source session.Source, status session.Status, way session.Way) string {
	switch by := decidedBy(source, status, way); {
	case by == "no_document" && way == "":
		return "source.declined"
	case by != "":
		return "source." + by
	}
	return ""
}

// DecidedBy is the key of who decided, or "" if nobody did.
func (v sessionRowView) DecidedBy() string { return decidedText(v.Source, v.Status.Status, v.Shown()) }

// Undecided is the key of why a session has no result.
func (v sessionRowView) Undecided() string {
	if v.Status.Status != session.StatusExpired {
		return "sessions.undecided"
	}
	story := storyView{Story: insight.StoryOf(session.Session{Status: session.StatusExpired, OpenedAt: v.OpenedAt,
		BegunAt: v.BegunAt, DocumentOpenedAt: v.AskedAt, Setbacks: v.Setbacks}, time.Time{})}
	if story.Why != "" && story.Refused == "" && !story.Offered {
		return "timeline.setback_" + story.Why
	}
	return "sessions.expired_" + story.stage()
}

// newRows returns the rows of a list at an address.
func newRows(rows []insight.SessionRow, list string) records[sessionRowView] {
	views := make(records[sessionRowView], len(rows))
	for i, row := range rows {
		views[i] = sessionRowView{row, statusView{row.Status}, list + "/" + row.ID.String()}
	}
	return views
}

type sessionsView struct {
	desk.Layout
	Rows     records[sessionRowView]
	Statuses []statusView
	Asked    map[string]string // the filter as it was typed
	Wrong    map[string]*page.Text
	Filtered bool
	Key      *insight.KeyUse // of the filter; nil for all
	Chosen   int             // how many fields of the form are filled in
	Later    bool            // there are newer sessions on earlier pages
	Newer    string          // address of the previous page; may be empty
	Next     string          // address of older sessions; may be empty
	Oldest   string          // address of the last page
	Short    bool            // the search ended early, before all sessions were examined
	List     string          // address of the list without a filter
	zone     *time.Location
	All      string // the same with the filter, but without a page
	Export   string // address of the selected sessions as a file
}

// Problem returns what is wrong with a field, or nil.
func (v *sessionsView) Problem(name string) *page.Text { return v.Wrong[name] }

// askedSessions returns the page's view with the filter as it was typed.
func askedSessions(r *desk.Request) *sessionsView {
	asked := r.QueryParams()
	v := &sessionsView{
		Asked: map[string]string{}, Wrong: map[string]*page.Text{}, List: r.Href(sessionsPath),
		Later: asked.Has("before") || asked.Has("after"), zone: r.Zone(),
	}
	for _, status := range parts {
		v.Statuses = append(v.Statuses, statusView{status})
	}
	v.Statuses = append(v.Statuses, untold)
	for _, name := range sessionFields {
		v.Asked[name] = strings.TrimSpace(asked.Get(name))
		v.Filtered = v.Filtered || v.Asked[name] != ""
		if v.Asked[name] != "" && name != "id" && name != "key" {
			v.Chosen++
		}
	}
	v.All, v.Export = v.List+v.query("", uuid.Nil), r.Href(sessionsExportPath)+v.query("", uuid.Nil)
	return v
}

// query returns the filter as a query, with a cursor unless its name is empty.
func (v *sessionsView) query(name string, cursor uuid.UUID) string {
	query := url.Values{}
	for name, value := range v.Asked {
		if value != "" {
			query.Set(name, value)
		}
	}
	if name != "" {
		query.Set(name, cursor.String())
	}
	if len(query) == 0 {
		return ""
	}
	return "?" + query.Encode()
}

func (p *Pages) showSessions(r *desk.Request) error {
	v := askedSessions(r)
	if v.Asked["id"] != "" {
		if id, err := uuid.Parse(v.Asked["id"]); err == nil {
			return r.Redirect(http.StatusSeeOther, v.List+"/"+id.String())
		}
	}
	filter := v.filter()
	before, err := r.Cursor("before")
	if err != nil {
		return err
	}
	if err := p.nameKey(r, v, filter.KeyID); err != nil {
		return err
	}
	if len(v.Wrong) > 0 {
		return r.Show(http.StatusUnprocessableEntity, "sessions", v)
	}
	after, err := r.Cursor("after")
	if err != nil {
		return err
	}
	list, cursor := p.cfg.Insight.Sessions, before
	if after != uuid.Nil {
		list, cursor = p.cfg.Insight.SessionsAfter, after
	}
	found, err := list(r.Ctx(), r.Scope(), filter, cursor)
	if err != nil {
		return err
	}
	v.Rows, v.Short = newRows(found.Rows, v.List), len(found.Rows) < insight.PageSize
	first := uuid.UUID{15: 1} // less than any session's
	if found.Next != uuid.Nil && after != first {
		v.Next, v.Oldest = v.query("before", found.Next), v.query("after", first)
	}
	if found.Newer != uuid.Nil {
		v.Newer = v.query("after", found.Newer)
	}
	return r.Show(http.StatusOK, "sessions", v)
}

// nameKey finds the key of the filter.
func (p *Pages) nameKey(r *desk.Request, v *sessionsView, id uuid.UUID) error {
	if id == uuid.Nil {
		return nil
	}
	keys, err := p.cfg.Insight.Keys(r.Ctx(), r.Scope())
	if i := slices.IndexFunc(keys, func(k insight.KeyUse) bool { return k.ID == id }); i >= 0 {
		v.Key = &keys[i]
	} else {
		v.refuse("key")
	}
	return err
}

func (v *sessionsView) refuse(name string) {
	v.Wrong[name] = new(page.Say("sessions.problem." + name))
}

// filter parses the filter, and records what cannot be read.
func (v *sessionsView) filter() (f insight.SessionFilter) {
	if given := v.Asked["id"]; idPrefix.MatchString(given) {
		f.Prefix = strings.ToLower(given)
	} else if orderText.MatchString(given) {
		f.Order = given
	} else if order := session.TypedOrder(given); order != "" && order != given {
		f.Order = order
	} else if given != "" {
		v.refuse("id")
	}
	switch f.Status = session.Status(v.Asked["status"]); {
	case f.Status == untold.Status:
		f.Status, f.Untold = "", true
	case f.Status != "" && !slices.Contains(parts, f.Status):
		v.refuse("status")
	}
	if given := v.Asked["age"]; given != "" {
		var err error
		if f.TargetAge, err = strconv.Atoi(given); err != nil || !allowedAge(f.TargetAge) {
			v.refuse("age")
		}
	}
	if given := v.Asked["key"]; given != "" {
		var err error
		if f.KeyID, err = uuid.Parse(given); err != nil {
			v.refuse("key")
		}
	}
	f.From = v.day("from")
	if f.To = v.day("to"); !f.To.IsZero() {
		f.To = f.To.AddDate(0, 0, 1) // the day is included
		if !f.From.Before(f.To) {
			v.refuse("to")
		}
	}
	return f
}

// day parses a date in the page's zone; the zero time means none.
func (v *sessionsView) day(name string) time.Time {
	if v.Asked[name] == "" {
		return time.Time{}
	}
	day, err := time.ParseInLocation(time.DateOnly, v.Asked[name], v.zone)
	if err != nil {
		v.refuse(name)
	}
	return day
}
