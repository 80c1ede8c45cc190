package store

import (
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
)

// inserted is a table with the columns that a creation writes, and how their values
// are read from a row.
type inserted[T any] struct {
	table   string
	columns []string
	values  func(T) []any
}

// What a creation inserts. Of a session to which nothing has happened yet, all columns
// but these have their defaults: naming all 31 costs more than writing them.
var (
	newSession = inserted[sessionRow]{
		"sessions",
		[]string{
			"id", "tenant_id", "livemode", "target_age", "success_url", "cancel_url", "webhook_url", "link_hash", "status",
			"created_at", "expires_at", "attempts", "strikes", "api_key_id",
		},
		func(r sessionRow) []any {
			return []any{
				r.ID, r.TenantID, r.Livemode, r.TargetAge, r.SuccessURL, r.CancelURL, r.WebhookURL, r.LinkHash, string(r.Status),
				r.CreatedAt, r.ExpiresAt, r.Attempts, r.Strikes, r.APIKeyID,
			}
		},
	}
	newHold = inserted[holdRow]{
		"holds", []string{"session_id", "tenant_id", "source", "period", "status", "expires_at"},
		func(r holdRow) []any {
			return []any{r.SessionID, r.TenantID, string(r.Source), r.Period, r.Status, r.ExpiresAt}
		},
	}
	newEntry = inserted[entryRow]{
		"ledger_entries", []string{"id", "tenant_id", "session_id", "kind", "source", "period", "delta", "created_at"},
		func(r entryRow) []any {
			return []any{r.ID, r.TenantID, r.SessionID, string(r.Kind), string(r.Source), r.Period, r.Delta, r.CreatedAt}
		},
	}
)

// forSessions returns newSession, or the same with all columns if anything has
// happened to one of the sessions.
func forSessions(db *gorm.DB, rows []sessionRow) (inserted[sessionRow], error) {
	if !slices.ContainsFunc(rows, touched) {
		return newSession, nil
	}
	stmt := &gorm.Statement{DB: db}
	if err := stmt.Parse(rows); err != nil {
		return newSession, err
	}
	return inserted[sessionRow]{newSession.table, stmt.Schema.DBNames, func(r sessionRow) (values []any) {
		for _, name := range stmt.Schema.DBNames {
			value, _ := stmt.Schema.FieldsByDBName[name].ValueOf(db.Statement.Context, reflect.ValueOf(&r).Elem())
			values = append(values, value)
		}
		return values
	}}, nil
}

// touched reports that a session has a value in another column than those of
// newSession.
func touched(r sessionRow) bool {
	r.ID, r.TenantID, r.Livemode, r.TargetAge, r.SuccessURL, r.CancelURL, r.WebhookURL = uuid.Nil, uuid.Nil, false, 0, "",
		"", ""
	r.LinkHash, r.Status, r.CreatedAt, r.ExpiresAt, r.Attempts, r.Strikes, r.APIKeyID = nil, "", time.Time{}, time.Time{},
		0, 0, nil
	return !reflect.ValueOf(&r).Elem().IsZero()
}

// encoded holds rows of a table in the form that json_populate_recordset reads.
type encoded struct {
	table   string
	columns []string
	objects []byte // of JSON, with commas between them
}

// insertion returns a query of a WITH clause of PostgreSQL that inserts the rows if
// they meet a condition. Its one argument is the array. The text does not depend on
// how many rows are inserted, so it is prepared once.
func (e encoded) insertion(condition string) string {
	columns := strings.Join(e.columns, ", ")
	return `, into_` + e.table + ` AS (
			INSERT INTO ` + e.table + ` (` + columns + `)
			SELECT ` + columns + ` FROM json_populate_recordset(CAST(NULL AS ` + e.table + `), CAST(? AS json))
			WHERE ` + condition + `)`
}

// array returns objects as an array of JSON. It is a text, because pgx's simple
// protocol, which some poolers need, writes bytes as hexadecimal digits.
func array(lists ...[]byte) string {
	size := 1
	for _, list := range lists {
		size += len(list) + 1
	}
	text := append(make([]byte, 0, size), '[')
	for i, list := range lists {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, list...)
	}
	return string(append(text, ']'))
}

// numbered writes the parameters of a statement as PostgreSQL does.
func numbered(statement string) string {
	var text strings.Builder
	for i, part := range strings.Split(statement, "?") {
		if i > 0 {
			text.WriteString("$" + strconv.Itoa(i))
		}
		text.WriteString(part)
	}
	return text.String()
}

// sizeOfObject is enough for most rows.
const sizeOfObject = 768

// encode returns what a batch inserts on PostgreSQL. Some of it may have no rows.
func (s *Store) encode(b batch) ([]encoded, error) {
	sessions := mapAll(b.sessions, fromSession)
	into, err := forSessions(s.writer, sessions)
	if err != nil {
		return nil, err
	}
	ofSessions, errSessions := into.encode(sessions)
	holds, errHolds := newHold.encode(mapAll(b.purchase.Holds, fromHold))
	entries, errEntries := newEntry.encode(mapAll(b.purchase.Entries, fromEntry))
	return []encoded{ofSessions, holds, entries}, errors.Join(errSessions, errHolds, errEntries)
}

func (i inserted[T]) encode(rows []T) (set encoded, err error) {
	set = encoded{table: i.table, columns: i.columns}
	if len(rows) > 0 {
		set.objects = make([]byte, 0, len(rows)*sizeOfObject)
	}
	for _, r := range rows {
		if set.objects, err = appendObject(set.objects, i.columns, i.values(r)); err != nil {
			return set, err
		}
	}
	return set, nil
}

// appendObject appends an object of JSON to a list of them.
func appendObject(list []byte, names []string, values []any) (_ []byte, err error) {
	before := byte('{')
	if len(list) > 0 {
		list = append(list, ',')
	}
	for i, name := range names {
		list = append(append(append(list, before, '"'), name...), `":`...)
		if list, err = appendJSON(list, values[i]); err != nil {
			return nil, err
		}
		before = ','
	}
	return append(list, '}'), nil
}

// appendJSON appends a column's value to JSON. json.Marshal would take several times
// as long, which is much of the gateway's share of a creation.
func appendJSON(text []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(text, "null"...), nil
	case bool:
		return strconv.AppendBool(text, v), nil
	case int64:
		return strconv.AppendInt(text, v, 10), nil
	case string:
		if plain(v) {
			return append(append(append(text, '"'), v...), '"'), nil
		}
		return appendMarshalled(text, v)
	case float64:
		return appendMarshalled(text, v)
	case []byte:
		if v == nil {
			return appendJSON(text, nil)
		}
		text = append(text, `"\\x`...)
		return append(hex.AppendEncode(text, v), '"'), nil
	case time.Time:
		text = at(v).AppendFormat(append(text, '"'), time.RFC3339Nano)
		return append(text, '"'), nil
	case uuid.UUID:
		return append(append(append(text, '"'), v.String()...), '"'), nil
	}
	simple, err := driver.DefaultParameterConverter.ConvertValue(value)
	if err != nil {
		return nil, err
	}
	return appendJSON(text, simple)
}

func appendMarshalled(text []byte, value any) ([]byte, error) {
	more, err := json.Marshal(value)
	return append(text, more...), err
}

// plain reports that JSON has a text as it is.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
