package store

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/session"
)

// TestAppendObject: whatever a column holds, the objects are JSON and hold the same.
func TestAppendObject(t *testing.T) {
	id := uuid.Must(uuid.NewV7())
	number, moment := int64(-7), time.Date(2026, 3, 10, 13, 0, 0, 123456789, time.FixedZone("", 3600))
	names, values, want := []string{}, []any{}, map[string]any{}
	for name, c := range map[string]struct{ value, want any }{
		"nothing": {nil, nil}, "yes": {true, true}, "no": {false, false}, "count": {18, 18.0},
		"most": {int64(math.MaxInt64), float64(math.MaxInt64)},
		"text": {"https://s.example/?a=b&c=%22", "https://s.example/?a=b&c=%22"}, "empty": {"", ""},
		"status":  {session.StatusPending, "PENDING"},
		"awkward": {"\"\\/\n\x00\x7f<é\u2028", "\"\\/\n\x00\x7f<é\u2028"}, "age": {21.5, 21.5},
		"hash": {[]byte{0, 255}, `\x00ff`}, "no_hash": {[]byte(nil), nil}, "id": {id, id.String()},
		"other": {&id, id.String()},
		"no_id": {(*uuid.UUID)(nil), nil}, "limit": {&number, -7.0}, "no_limit": {(*int64)(nil), nil},
		"time": {moment, "2026-03-10T12:00:00.123456Z"}, "later": {&moment, "2026-03-10T12:00:00.123456Z"},
		"never": {(*time.Time)(nil), nil},
	} {
		names, values, want[name] = append(names, name), append(values, c.value), c.want
	}
	var list []byte
	for range 2 {
		var err error
		if list, err = appendObject(list, names, values); err != nil {
			t.Fatal(err)
		}
	}
	var got []map[string]any
	if err := json.Unmarshal([]byte(array(list, list)), &got); err != nil {
		t.Fatalf("%v: %s", err, list)
	}
	for _, object := range got {
		if !reflect.DeepEqual(object, want) {
			t.Errorf("%v, want %v", object, want)
		}
	}
	if len(got) != 4 {
		t.Errorf("%d objects, want 4", len(got))
	}
	if _, err := appendObject(nil, []string{"age"}, []any{math.NaN()}); err == nil {
		t.Error("a number that JSON does not have was written")
	}
}

// TestNewColumns: the columns of what a creation inserts fit their values.
func TestNewColumns(t *testing.T) {
	for table, lengths := range map[string][2]int{
		newSession.table: {len(newSession.columns), len(newSession.values(sessionRow{}))},
		newHold.table:    {len(newHold.columns), len(newHold.values(holdRow{}))},
		newEntry.table:   {len(newEntry.columns), len(newEntry.values(entryRow{}))},
	} {
		if lengths[0] != lengths[1] {
			t.Errorf("%s: %d columns, %d values", table, lengths[0], lengths[1])
		}
	}
	if got := numbered("SELECT ?, ?"); got != "SELECT $1, $2" {
		t.Error(got)
	}
}
