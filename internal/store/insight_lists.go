package store

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/session"
	"agegate/internal/rules/webhook"
)

var _ insight.Store = (*Store)(nil)

// lookedAt is the maximum number of rows of one status that a list query reads if
// a condition may skip many rows before a page is full.
const lookedAt = 500

// ranges selects the newest rows of a table as a union of one range for each status. Each range is read from
// its end in the index (tenant_id, livemode, status, id), and reading stops after a page. Reading a mode of a
// tenant in the order of ids in any other way would pass over the rows of the other mode. The condition on the
// status is a range: with an equality, PostgreSQL would read the primary key backwards if it expects to find a
// row soon, and would read the whole table if there is none.
type ranges struct {
	table, columns string
	also           string // further columns, read only of the rows found
	scope          insight.Scope
	parts          []part
	from, before   string // ids: at or after, and before; empty for no bound
	after          string // ids greater than this one, the from first; empty for the newest first
	where          string // further condition of every part; empty for none
	args           []any  // of where
}

// part is a status and a further condition on its rows.
type part struct {
	status string // never input, because it is written into the statement
	where  string // empty for none
	args   []any
}

// union returns a statement and its arguments. It selects the ids of the newest rows of each part: at most
// limit after offset of each part, without the conditions of the parts.
func (r ranges) union(limit, offset int) (string, []any) {
	var selects []string
	var args []any
	for _, p := range r.parts {
		statement, own := r.top("id", p, limit, offset)
		selects, args = append(selects, "SELECT * FROM "+statement), append(args, own...)
	}
	return strings.Join(selects, " UNION ALL "), args
}

// top is like union, for one part and any columns. The result is used as a table in another statement. Values
// that are not input are written as literals, because both databases plan by them, and SQLite would prepare the
// statement again for a bound value.
func (r ranges) top(columns string, p part, limit, offset int) (string, []any) {
	from, args := "'"+minID+"'", []any{r.scope.TenantID.String()}
	if r.after != "" {
		from, args = "?", append(args, r.after)
	}
	statement := fmt.Sprintf(`(SELECT %s FROM %s WHERE tenant_id = ? AND livemode = %t
		AND (status, id) > ('%s', %s) AND (status, id) < ('%s', ?)
			ORDER BY status %[7]s, id %[7]s LIMIT %[8]d OFFSET %[9]d) AS part`,
		columns, r.table, r.scope.Livemode, p.status, from, p.status, r.order(), limit, offset)
	return statement, append(args, cmp.Or(r.before, greatestID(r.table)))
}

// order is the direction in which a list reads ids.
func (r ranges) order() string {
	if r.after != "" {
		return "ASC"
	}
	return "DESC"
}

// selected is like union, with the conditions, for the rows between from and the id that the search reaches.
// The rows are limited first and then selected, because otherwise the search might read all rows.
func (r ranges) selected(reached string) (string, []any) {
	var selects []string
	var args []any
	bounds, ends := "id >= ?", []any{cmp.Or(max(r.from, reached), minID)}
	if r.after != "" {
		bounds, ends = "id >= ? AND id <= ?", []any{cmp.Or(r.from, minID), cmp.Or(reached, greatestID(r.table))}
	}
	for _, p := range r.parts {
		statement, own := r.top(r.columns, p, lookedAt, 0)
		where, values := bounds, slices.Clone(ends)
		for _, c := range []part{p, {where: r.where, args: r.args}} {
			if c.where != "" {
				where, values = where+" AND "+c.where, append(values, c.args...)
			}
		}
		selects, args = append(selects, "SELECT * FROM "+statement+" WHERE "+where), append(append(args, own...), values...)
	}
	return strings.Join(selects, " UNION ALL "), args
}

// minID sorts before the IDs of all tables.
const minID = "00000000-0000-0000-0000-000000000000"

func greatestID(table string) string {
	if table == "sessions" {
		return uuid.Max.String()
	}
	return "evt_" + uuid.Max.String()
}

// newest reads the newest rows into rows, a pointer to a slice. If r.after is set, it reads the oldest rows
// after that instead. It returns the ID down to which it has searched, or "" if it searched everything. It uses
// GORM's Find, because Scan would write the values into the statement.
func (tx *Tx) newest(r ranges, limit int, rows any) (reached string, err error) {
	if len(r.parts) == 0 {
		return "", nil
	}
	var statement string
	var args []any
	conditional := func(p part) bool { return p.where != "" }
	if r.from != "" || r.where != "" || slices.ContainsFunc(r.parts, conditional) { // may skip many rows
		if reached, err = tx.reach(r); err != nil {
			return "", err
		}
		statement, args = r.selected(reached)
		statement = fmt.Sprintf("SELECT *%s FROM (%s) AS %s", r.also, statement, r.table)
	} else {
		statement, args = r.union(limit, 0)
		statement = fmt.Sprintf("SELECT %s FROM %s WHERE id IN (SELECT id FROM (%s) AS parts ORDER BY id %s LIMIT %d)",
			r.columns+r.also, r.table, statement, r.order(), limit)
	}
	return reached, tx.db.Raw(fmt.Sprintf("%s ORDER BY id %s LIMIT %d", statement, r.order(), limit),
		args...).Find(rows).Error
}

// reach returns the ID to which the first lookedAt rows of every part reach, or "" if no part has more rows.
func (tx *Tx) reach(r ranges) (id string, err error) {
	statement, args := r.union(1, lookedAt-1)
	var last []string
	if err := tx.db.Raw(statement, args...).Scan(&last).Error; err != nil {
		return "", err
	}
	if len(last) == 0 {
		return "", nil
	}
	if r.after != "" { // ids are lower case, so that they compare as text
		if id = slices.Min(last); r.before != "" && id >= r.before {
			return "", nil
		}
		return id, nil
	}
	if id = slices.Max(last); id <= r.from {
		return "", nil
	}
	return id, nil
}

const listColumns = "id, status, target_age, source, document_way AS way, created_at, expires_at, completed_at, " +
	"opened_at, begun_at, document_opened_at AS asked_at, attempts, strikes, order_ref, setbacks"

// untold says of a session whether its webhook failed so far or for good, or waits for a disabled endpoint.
const untold = ", " + isUntold + " AS untold"

const isUntold = `EXISTS (SELECT 1 FROM webhook_events AS e WHERE e.session_id = sessions.id
	AND (e.status IN ('failed', 'waiting') OR e.status = 'pending' AND e.last_class <> ''))`

// ListSessions implements insight.Store.
func (s *Store) ListSessions(ctx context.Context, q insight.SessionQuery) (insight.Found[insight.SessionRow], error) {
	r := ranges{table: "sessions", columns: listColumns, also: untold, scope: q.Scope, parts: sessionParts(q)}
	r.narrow(q.SessionFilter)
	r.between("", q.From, q.To)
	if q.Status == session.StatusPending {
		// Older sessions have expired, even if their rows do not say so yet.
		r.from = max(r.from, insight.IDAt(q.Now.Add(-session.MaxLifetime)).String())
	}
	if q.Prefix != "" {
		last, err := uuid.Parse(q.Prefix + greatestID("sessions")[len(q.Prefix):])
		if err != nil {
			return insight.Found[insight.SessionRow]{}, nil //nolint:nilerr // no ID begins like this
		}
		r.from = max(r.from, q.Prefix+minID[len(q.Prefix):])
		r.until(insight.Following(last).String())
	}
	if q.Before != uuid.Nil {
		r.until(q.Before.String())
	}
	if q.After != uuid.Nil {
		r.after = q.After.String()
	}
	return view(ctx, s, func(tx *Tx) (found insight.Found[insight.SessionRow], err error) {
		found.Reached, err = tx.newest(r, q.Limit, &found.Rows)
		if r.after != "" {
			slices.Reverse(found.Rows)
		}
		effective(found.Rows, q.Now)
		return found, err
	})
}

// between limits the rows to times, by IDs with a prefix; a zero time is no limit.
func (r *ranges) between(prefix string, from, to time.Time) {
	if !from.IsZero() {
		r.from = prefix + insight.IDAt(from).String()
	}
	if !to.IsZero() {
		r.until(prefix + insight.IDAt(to).String())
	}
}

// until limits the rows to those before an ID.
func (r *ranges) until(id string) { r.before = min(cmp.Or(r.before, id), id) }

// narrow adds the conditions of a filter that are not ranges of ids.
func (r *ranges) narrow(f insight.SessionFilter) {
	if f.TargetAge != 0 {
		r.where, r.args = "target_age = ?", []any{f.TargetAge}
	}
	if f.Order != "" {
		r.columns += ", success_url"
		r.where, r.args = and(r.where, orderClause), append(r.args, "?", orderPattern(f.Order))
	}
	if f.KeyID != uuid.Nil {
		r.columns += ", api_key_id"
		r.where, r.args = and(r.where, "api_key_id = ?"), append(r.args, f.KeyID.String())
	}
	if f.Untold {
		r.where = and(r.where, strings.Replace(isUntold, "sessions.id", "part.id", 1))
	}
	if f.Shoppers {
		r.where = and(r.where, "source <> 'receiver'")
	}
}

// effective sets the statuses that sessions have at a time.
func effective(rows []insight.SessionRow, now time.Time) []insight.SessionRow {
	for i, row := range rows {
		rows[i].Status = session.Session{Status: row.Status, ExpiresAt: row.ExpiresAt}.StatusAt(now)
	}
	return rows
}

// orderClause selects sessions by a parameter of their success URL. It replaces the question mark and the
// number sign by ampersands, so that each parameter stands between two ampersands. Its arguments are a question
// mark, because a statement cannot contain one, and an orderPattern.
const orderClause = `(REPLACE(REPLACE(success_url, ?, '&'), '#', '&') || '&' LIKE ? ESCAPE '!')`

// orderPattern returns the pattern of orderClause: one text with a wildcard before and after it. A wildcard within
// the text would let the time of a comparison grow with the square of the URL's length, which the tenant chooses.
func orderPattern(order string) string {
	name, value, named := strings.Cut(order, "=")
	if !named || name == "" {
		return "%=" + likeText.Replace(url.QueryEscape(strings.TrimPrefix(order, "="))) + "&%"
	}
	return "%&" + likeText.Replace(url.QueryEscape(name)) + "=" + likeText.Replace(url.QueryEscape(value)) + "&%"
}

// and joins two conditions, of which the first may be empty.
func and(a, b string) string {
	if a == "" {
		return b
	}
	return a + " AND " + b
}

// sessionParts returns the parts that select the sessions with the query's effective status, or all sessions if the
// query names none. A pending session whose time is over counts as expired, although its row still says pending.
func sessionParts(q insight.SessionQuery) []part {
	now := []any{q.Now}
	switch q.Status {
	case session.StatusPending:
		return []part{{string(session.StatusPending), "expires_at > ?", now}}
	case session.StatusExpired:
		return []part{{status: string(session.StatusExpired)}, {string(session.StatusPending), "expires_at <= ?", now}}
	}
	return partsOf(q.Status, session.StatusPending, session.StatusPassed, session.StatusFallback, session.StatusSpoof,
		session.StatusExpired)
}

// partsOf returns one part for the requested status. If no status is requested, it returns one part for each
// status in all. For a status that is not in all, it returns no parts.
func partsOf[S ~string](asked S, all ...S) (parts []part) {
	for _, status := range all {
		if asked == "" || asked == status {
			parts = append(parts, part{status: string(status)})
		}
	}
	return parts
}

// eventColumns are the columns of eventRow, except the body and those that only attempts need.
const eventColumns = "id, tenant_id, session_id, livemode, destination, endpoint_id, status, created_at, " +
	"next_attempt_at, attempts, last_at, last_class, last_status"

// ListEvents implements insight.Store.
func (s *Store) ListEvents(ctx context.Context, q insight.EventQuery) (insight.Found[insight.EventRow], error) {
	r := ranges{table: "webhook_events", columns: eventColumns, scope: q.Scope, before: q.Before}
	r.parts = partsOf(q.Status, webhook.StatusPending, webhook.StatusDelivered, webhook.StatusFailed,
		webhook.StatusWaiting, webhook.StatusNoDestination)
	if q.Class != "" {
		r.where, r.args = "last_class = ?", []any{string(q.Class)}
	}
	r.between("evt_", q.From, q.To)
	return view(ctx, s, func(tx *Tx) (found insight.Found[insight.EventRow], err error) {
		if found.Reached, err = tx.newest(r, q.Limit, &found.Rows); err == nil {
			err = tx.readOrders(found.Rows)
		}
		return found, err
	})
}

// readOrders sets the orders of the sessions of events.
func (tx *Tx) readOrders(rows []insight.EventRow) error {
	var found []struct {
		ID       uuid.UUID
		OrderRef string
	}
	ids := mapAll(rows, func(row insight.EventRow) uuid.UUID { return row.SessionID })
	err := tx.db.Raw("SELECT id, order_ref FROM sessions WHERE id IN ? AND order_ref <> ''", ids).Find(&found).Error
	orders := map[uuid.UUID]string{}
	for _, s := range found {
		orders[s.ID] = s.OrderRef
	}
	for i, row := range rows {
		rows[i].OrderRef = orders[row.SessionID]
	}
	return err
}

// Related implements insight.Store.
func (s *Store) Related(ctx context.Context, sess session.Session) (insight.Related, error) {
	return view(ctx, s, func(tx *Tx) (b insight.Related, err error) {
		err = tx.db.Raw(`SELECT
			EXISTS (SELECT 1 FROM idempotency_claims WHERE session_id = ?) AS link_copy,
			EXISTS (SELECT 1 FROM handovers WHERE link_hash = ? AND phone_hash IS NOT NULL) AS phone,
			(SELECT CASE WHEN outcome = '' THEN 'silent' WHEN outcome = 'proved' THEN 'answered'
				WHEN outcome LIKE 'proved%' THEN 'returns' ELSE '' END FROM wallet_requests WHERE link_hash = ?) AS wallet,
			EXISTS (SELECT 1 FROM webhook_events WHERE session_id = ?) AS event`,
			sess.ID, sess.LinkHash, sess.LinkHash, sess.ID).Scan(&b).Error
		return b, err
	})
}

// CountEvents implements insight.Store.
func (s *Store) CountEvents(
	ctx context.Context, scope insight.Scope, since string, limit int,
) (insight.EventCounts, error) {
	newest := func(columns string, status webhook.Status, since string) (string, []any) {
		r := ranges{table: "webhook_events", scope: scope}
		statement, args := r.top(columns, part{status: string(status)}, limit, 0)
		return statement + " WHERE id >= ?", append(args, since)
	}
	return view(ctx, s, func(tx *Tx) (c insight.EventCounts, err error) {
		statement, args := newest("id, attempts", webhook.StatusDelivered, since)
		// The first attempt decides. An event that was sent again has more attempts,
		// even if the first one delivered it.
		err = tx.db.Raw("SELECT count(*) AS delivered, count(CASE WHEN attempts = 1 OR EXISTS (SELECT 1 FROM "+
			"webhook_attempts WHERE event_id = part.id AND number = 1 AND class = 'delivered') THEN 1 END) AS first_try "+
			"FROM "+statement, args...).Scan(&c).Error
		refused := " AND EXISTS (SELECT 1 FROM webhook_attempts WHERE event_id = part.id AND number = 1 AND " +
			"class <> 'delivered')"
		for _, n := range []struct {
			status     webhook.Status
			since, and string
			to         *int64
		}{
			{webhook.StatusPending, "", "", &c.Pending}, {webhook.StatusWaiting, "", "", &c.Waiting},
			{webhook.StatusFailed, since, "", &c.Failed},
			{webhook.StatusPending, since, refused, &c.Refused}, {webhook.StatusWaiting, since, refused, &c.Refused},
		} {
			var found int64
			if err == nil {
				statement, args := newest("id", n.status, n.since)
				err = tx.db.Raw("SELECT count(*) FROM "+statement+n.and, args...).Scan(&found).Error
			}
			*n.to += found
		}
		return c, err
	})
}
