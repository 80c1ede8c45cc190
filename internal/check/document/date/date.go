// Package date has the dates of documents. Some birth dates are known only in part, and
// some documents do not expire. The package is pure.
package date

import "time"

// Date is a date on a document: the first and the last day that it can mean, each
// midnight in UTC. The zero Date says nothing.
type Date struct{ Earliest, Latest time.Time }

// NoEnd is the expiry date of a document that does not expire.
var NoEnd = On(9999, time.December, 31)

// On returns the date of one day.
func On(year int, month time.Month, day int) Date {
	midnight := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	return Date{midnight, midnight}
}

// Of returns the date of the day of t in t's own time zone.
func Of(t time.Time) Date { return On(t.Date()) }

// Partial returns the date with a month and a day of which each may be unknown (0), and whether the calendar has it.
func Partial(year, month, day int) (d Date, exists bool) {
	first, last := time.Month(month), time.Month(month)
	if month == 0 {
		first, last = time.January, time.December
	}
	d = Date{On(year, first, day).Earliest, On(year, last, day).Latest}
	if day == 0 {
		d = Date{On(year, first, 1).Earliest, On(year, last+1, 0).Latest}
	}
	return d, d.Earliest.Month() == first && d.Latest.Month() == last
}

// String returns the date in ISO 8601 form: a day, an interval if the date can mean
// several days, or "" for the zero Date.
func (d Date) String() string {
	switch {
	case d == Date{}:
		return ""
	case d.IsDay():
		return d.Latest.Format(time.DateOnly)
	}
	return d.Earliest.Format(time.DateOnly) + "/" + d.Latest.Format(time.DateOnly)
}

// IsDay reports whether the date can mean one day only.
func (d Date) IsDay() bool { return d != (Date{}) && d.Earliest.Equal(d.Latest) }

// oldest is the earliest year of birth. Nobody who was born earlier lives. Some
// registers write such a year for a birth date that they do not know.
const oldest = 1900

// CanBeBirth reports whether a person who lives today can be born on the date.
func (d Date) CanBeBirth(today Date) bool {
	return d.Earliest.Year() > oldest && !d.Earliest.After(today.Latest)
}

// Reached reports whether a person born on the date has lived that many years today. surely is by the latest day that
// the date can mean, and possibly by the earliest. Both are false for a date that cannot be a birth. A person born on
// 29 February turns a year older on 1 March in a year that is not a leap year.
func (d Date) Reached(years int, today Date) (surely, possibly bool) {
	if !d.CanBeBirth(today) {
		return false, false
	}
	return !d.Latest.AddDate(years, 0, 0).After(today.Latest), !d.Earliest.AddDate(years, 0, 0).After(today.Latest)
}

// Ended reports whether a document that expires on the date has expired: the last
// day that the date can mean is before today.
func (d Date) Ended(today Date) bool { return d.Latest.Before(today.Earliest) }
