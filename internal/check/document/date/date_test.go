package date_test

import (
	"testing"
	"time"

	"agegate/internal/check/document/date"
)

func TestPartial(t *testing.T) {
	for _, row := range []struct {
		year, month, day int
		want             string // "" for a date that does not exist
	}{
		{1948, 6, 12, "1948-06-12"},
		{1948, 6, 0, "1948-06-01/1948-06-30"},
		{1948, 2, 0, "1948-02-01/1948-02-29"},
		{1948, 0, 0, "1948-01-01/1948-12-31"},
		{1948, 0, 31, "1948-01-31/1948-12-31"},
		{1948, 2, 29, "1948-02-29"},
		{1949, 2, 29, ""}, {1948, 6, 31, ""}, {1948, 13, 1, ""}, {1948, 13, 0, ""}, {1948, 0, 32, ""},
	} {
		got, exists := date.Partial(row.year, row.month, row.day)
		if exists != (row.want != "") || exists && got.String() != row.want {
			t.Errorf("%d-%d-%d: %v, exists %v; want %q", row.year, row.month, row.day, got, exists, row.want)
		}
	}
}

func TestReached(t *testing.T) {
	year, _ := date.Partial(2008, 0, 0)
	for _, row := range []struct {
		birth, today     date.Date
		surely, possibly bool
	}{
		{date.On(2008, time.November, 21), date.On(2026, time.November, 21), true, true},
		{date.On(2008, time.November, 22), date.On(2026, time.November, 21), false, false},
		{date.On(2008, time.February, 29), date.On(2026, time.February, 28), false, false},
		{date.On(2008, time.February, 29), date.On(2026, time.March, 1), true, true},
		{date.On(2027, time.January, 1), date.On(2026, time.November, 21), false, false},
		{date.Date{}, date.On(2026, time.November, 21), false, false},
		{date.On(1, time.January, 1), date.On(2026, time.November, 21), false, false},
		{year, date.On(2025, time.December, 31), false, false},
		{year, date.On(2026, time.January, 1), false, true},
		{year, date.On(2026, time.December, 30), false, true},
		{year, date.On(2026, time.December, 31), true, true},
	} {
		if surely, possibly := row.birth.Reached(18, row.today); surely != row.surely || possibly != row.possibly {
			t.Errorf("%v on %v: %v, %v", row.birth, row.today, surely, possibly)
		}
	}
}

func TestCanBeBirth(t *testing.T) {
	today := date.On(2026, time.November, 25)
	thisYear, _ := date.Partial(2026, 0, 0)
	for d, want := range map[date.Date]bool{
		{}: false, date.On(0, time.June, 1): false, date.On(1, time.January, 1): false,
		date.On(1700, time.January, 1): false, date.On(1900, time.December, 31): false,
		date.On(1901, time.January, 1): true, today: true, thisYear: true,
		date.On(2026, time.November, 26): false, date.NoEnd: false,
	} {
		if got := d.CanBeBirth(today); got != want {
			t.Errorf("%v: %v", d, got)
		}
	}
}

func TestEnded(t *testing.T) {
	month, _ := date.Partial(2026, 11, 0)
	for _, row := range []struct {
		expiry, today date.Date
		want          bool
	}{
		{date.On(2026, time.November, 25), date.On(2026, time.November, 25), false},
		{date.On(2026, time.November, 25), date.On(2026, time.November, 26), true},
		{month, date.On(2026, time.November, 30), false},
		{month, date.On(2026, time.December, 1), true},
		{date.NoEnd, date.On(2100, time.January, 1), false},
	} {
		if got := row.expiry.Ended(row.today); got != row.want {
			t.Errorf("%v on %v: %v", row.expiry, row.today, got)
		}
	}
}
