package dashboard

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"

	"github.com/google/uuid"
)

var (
	idEnd    = regexp.MustCompile(`^[0-9a-fA-F-]*[0-9a-fA-F]{8}$`) // of an ID, as lists show it
	digits   = regexp.MustCompile(`^[0-9]+$`)
	number   = regexp.MustCompile(`[0-9]{3}`)    // of an order, and no age
	noNumber = regexp.MustCompile(`^[^0-9]*$|@`) // a name or an address of mail, and no order
	inWord   = regexp.MustCompile(`[\pL\pM\pN-]+`)
	// wordAndNumber is an order as somebody may spell it, such as Order-1042 or 1042-DE.
	wordAndNumber = regexp.MustCompile(`^(?:[A-Za-z]+[-_.])?([0-9]{2,})(?:[-_.][A-Za-z]+)?$`)
)

// sessionHits returns the sessions that find returns for a text in each mode that the log-in opens.
func (p *Pages) sessionHits(
	r *desk.Request, text string, find func(*desk.Request, insight.Scope, string) ([]insight.SessionRow, error),
) (hits []hitView, err error) {
	for _, livemode := range livemodesOf(r) {
		scope := insight.Scope{TenantID: r.Access.TenantID(), Livemode: livemode}
		rows, err := find(r, scope, text)
		if err != nil {
			return nil, err
		}
		for _, row := range newRows(rows, inMode(r, livemode, sessionsPath)) {
			hits = append(hits, hitView{Kind: "lookup.session", Name: row.ID.String(), Mode: modeName(livemode), Session: &row,
				recordLink: recordLink{Href: row.Href, Livemode: livemode}})
		}
	}
	return hits, nil
}

// sessionsBegun returns sessions of a scope with an order that begins with a text, or with the number at its end.
func (p *Pages) sessionsBegun(r *desk.Request, scope insight.Scope, text string) ([]insight.SessionRow, error) {
	order := session.TypedOrder(text)
	if order == "" {
		return nil, nil
	}
	rows, err := p.cfg.Insight.Find(r.Ctx(), scope, insight.OrderStart, order, maxHits)
	if err == nil && digits.MatchString(order) && len(rows) < maxHits {
		var ending []insight.SessionRow
		ending, err = p.cfg.Insight.Find(r.Ctx(), scope, insight.OrderNumber, order, maxHits-len(rows))
		rows = withRows(rows, ending)
	}
	return rows, err
}

// sessionsNamed returns the newest sessions of a scope that a text names.
func (p *Pages) sessionsNamed(
	r *desk.Request, scope insight.Scope, text string,
) (rows []insight.SessionRow, err error) {
	if order := session.TypedOrder(text); order != "" {
		if rows, err = p.cfg.Insight.Find(r.Ctx(), scope, insight.Order, order, maxHits); err != nil {
			return nil, err
		}
	}
	filter := insight.SessionFilter{Prefix: strings.ToLower(text)}
	id, err := p.cfg.Sessions.ByIdempotencyKey(r.Ctx(), scope.TenantID, scope.Livemode, text)
	switch {
	case err == nil:
		filter.Prefix = id.String()
	case fault.CodeOf(err) != fault.NotFound:
		return nil, err
	}
	if idPrefix.MatchString(filter.Prefix) || err == nil {
		page, err := p.cfg.Insight.Sessions(r.Ctx(), scope, filter, uuid.Nil)
		if err != nil {
			return nil, err
		}
		rows = withRows(rows, page.Rows)
	}
	if idEnd.MatchString(text) {
		ending, err := p.cfg.Insight.Find(r.Ctx(), scope, insight.IDEnd, text, maxHits)
		if err != nil {
			return nil, err
		}
		rows = withRows(rows, ending)
	}
	return rows[:min(len(rows), maxHits)], nil
}

// eventsEnding returns the webhook events with an ID that ends with a text.
func (p *Pages) eventsEnding(r *desk.Request, text string) (hits []hitView, err error) {
	if !idEnd.MatchString(text) {
		return nil, nil
	}
	ids, err := p.cfg.Insight.FindEvents(r.Ctx(), r.Access.TenantID(), text, maxHits)
	for _, id := range ids {
		record, failed := p.eventLink(r, id)
		if err = cmp.Or(err, failed); record != nil {
			hits = append(hits, hitView{Kind: "lookup.event", Name: id, Mode: modeName(record.Livemode), recordLink: *record})
		}
	}
	return hits, err
}

// withRows adds the sessions that are not among others.
func withRows(rows, others []insight.SessionRow) []insight.SessionRow {
	for _, row := range others {
		if !slices.ContainsFunc(rows, func(known insight.SessionRow) bool { return known.ID == row.ID }) {
			rows = append(rows, row)
		}
	}
	return rows
}
