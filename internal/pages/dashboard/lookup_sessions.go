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
	noNumber = regexp.MustCompile(`^[^0-9]*$|@`) // a name or an address of mail, and no order
	// number is that of an order, and no age, price or year.
	number = regexp.MustCompile(`[0-9]{5}|(?:\pL|\b)(?:[03-9][0-9]|1[0-8]|2[1-9])[0-9]{2}\b`)
	inWord = regexp.MustCompile(`[\pL\pM\pN-]+`)
	// numbered is the end of an order as somebody may spell it, such as Order-1042, DE 20990 or 20990DE.
	numbered = regexp.MustCompile(`\pL*[^\pL\pN]{0,3}([0-9]{2,})(?:[-_./]?\pL+)?$`)
)

// sessionHits returns what the first of some finders that finds any returns for a text, in each mode that the log-in
// opens.
func (p *Pages) sessionHits(
	r *desk.Request, text string, finders ...func(*desk.Request, insight.Scope, string) ([]insight.SessionRow, error),
) (hits []hitView, err error) {
	for i := 0; i < len(finders) && hits == nil; i++ {
		for _, livemode := range livemodesOf(r) {
			rows, err := finders[i](r, insight.Scope{TenantID: r.Access.TenantID(), Livemode: livemode}, text)
			if err != nil {
				return nil, err
			}
			for _, row := range newRows(rows, inMode(r, livemode, sessionsPath)) {
				hits = append(hits, hitView{Kind: "lookup.session", Name: row.ID.String(), Mode: modeName(livemode), Session: &row,
					recordLink: recordLink{Href: row.Href, Livemode: livemode}})
			}
		}
	}
	return hits, nil
}

// sessionsSpelled returns sessions of a scope whose order is a short text, or what it ends with, but for case and
// punctuation, such as DE-20990 for "order #DE 20990", or else is the number in it.
func (p *Pages) sessionsSpelled(
	r *desk.Request, scope insight.Scope, text string,
) (found []insight.SessionRow, err error) {
	said := numbered.FindStringSubmatch(text)
	if said == nil || strings.Count(text, " ") > maxSought {
		return nil, nil
	}
	begun, err := p.cfg.Insight.Find(r.Ctx(), scope, insight.OrderStart, said[1], maxSpelled)
	ending, failed := p.cfg.Insight.Find(r.Ctx(), scope, insight.OrderNumber, said[1], maxSpelled)
	for _, order := range []string{unspelled(text), unspelled(said[0]), said[1]} {
		found = append(found, slices.DeleteFunc(slices.Concat(begun, ending), func(row insight.SessionRow) bool {
			return len(found) > 0 || unspelled(row.OrderRef) != order || order == said[1] && said[0] != text
		})...)
	}
	return found[:min(len(found), maxHits)], cmp.Or(err, failed)
}

// unspelled is an order in lower case without punctuation.
func unspelled(order string) string {
	return strings.ReplaceAll(strings.Join(inWord.FindAllString(strings.ToLower(order), -1), ""), "-", "")
}

// sessionsBegun returns sessions of a scope with an order that begins with a text, or with the number at its end.
func (p *Pages) sessionsBegun(r *desk.Request, scope insight.Scope, text string) ([]insight.SessionRow, error) {
	order := session.TypedOrder(text)
	if order == "" || len(text) < minLetters {
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
