package mrz_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"agegate/internal/check/document/mrz"
)

// odd are the wanted dates of zones in testdata, by the number in their names, that
// are not those of a whole birth date and an end.
var odd = map[string][2]string{
	"00": {"1948-01-01", "9999-12-31"}, "02": {"1948-01-01", "9999-12-31"}, "04": {"1948-01-01", "9999-12-31"},
	"05": {"1948-01-01/1948-12-31", "2031-01-01"}, "07": {"1948-01-01/1948-12-31", "2031-01-01"},
	"25": {"2025-01-01", "2030-01-01"},
}

// TestFieldZones reads the zones of invented people in testdata, each of which is of
// a kind that readers were seen to stumble over.
func TestFieldZones(t *testing.T) {
	data, err := os.ReadFile("testdata/zones.json")
	if err != nil {
		t.Fatal(err)
	}
	var zones map[string][]string
	if err := json.Unmarshal(data, &zones); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	for name, lines := range zones {
		t.Run(name, func(t *testing.T) {
			format := mrz.TD1
			if len(lines) == 2 {
				format = mrz.TD3
			}
			r := mrz.Decode(format, lines, now)
			if !r.Valid {
				t.Fatalf("not valid: %v", r.Reasons)
			}
			want, isOdd := odd[name[:2]]
			if !isOdd {
				want = [2]string{"1986-01-01", "2030-01-01"}
			}
			if got := [2]string{r.BirthDate.String(), r.ExpiryDate.String()}; got != want {
				t.Errorf("got %v, want %v", got, want)
			}
			if r.IssuingState == "" {
				t.Error("no issuing state")
			}
		})
	}
}
