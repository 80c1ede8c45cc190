package wallet

import (
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
)

func TestDateTime(t *testing.T) {
	at := time.Date(2026, time.June, 30, 23, 59, 59, 0, time.UTC)
	for name, tt := range map[string]struct {
		item any
		want time.Time // zero: refused
	}{
		"as usual":             {cbor.Tag{Number: 0, Content: "2026-06-30T23:59:59Z"}, at},
		"in small letters":     {cbor.Tag{Number: 0, Content: "2026-06-30t23:59:59z"}, at},
		"with a leap second":   {cbor.Tag{Number: 0, Content: "2026-06-30T23:59:60Z"}, at.Add(time.Second)},
		"in a zone":            {cbor.Tag{Number: 0, Content: "2026-07-01T01:59:59+02:00"}, at},
		"with a fraction":      {cbor.Tag{Number: 0, Content: "2026-06-30T23:59:59.5Z"}, at.Add(time.Second / 2)},
		"of second 61":         {cbor.Tag{Number: 0, Content: "2026-06-30T23:59:61Z"}, time.Time{}},
		"without a zone":       {cbor.Tag{Number: 0, Content: "2026-06-30T23:59:59"}, time.Time{}},
		"a day":                {cbor.Tag{Number: 0, Content: "2026-06-30"}, time.Time{}},
		"seconds since 1970":   {cbor.Tag{Number: 1, Content: at.Unix()}, time.Time{}},
		"text without its tag": {"2026-06-30T23:59:59Z", time.Time{}},
		"the tag of a number":  {cbor.Tag{Number: 0, Content: 7}, time.Time{}},
		"no text":              {cbor.Tag{Number: 0, Content: ""}, time.Time{}},
	} {
		var got dateTime
		err := decoder.Unmarshal(encode(tt.item), &got)
		if (err == nil) == tt.want.IsZero() || !got.Equal(tt.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
