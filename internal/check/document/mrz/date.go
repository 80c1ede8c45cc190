package mrz

import (
	"fmt"
	"time"
)

// Date is a day of the calendar. The zero Date stands for no day.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// DateOf returns the day of t in t's own time zone.
func DateOf(t time.Time) Date {
	var d Date
	d.Year, d.Month, d.Day = t.Date()
	return d
}

// String returns the date in ISO 8601 form, or "" for no day.
func (d Date) String() string {
	if d == (Date{}) {
		return ""
	}
	return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day)
}

// MarshalText returns the text of String.
func (d Date) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Before reports whether d is an earlier day than e.
func (d Date) Before(e Date) bool {
	if d.Year != e.Year {
		return d.Year < e.Year
	}
	if d.Month != e.Month {
		return d.Month < e.Month
	}
	return d.Day < e.Day
}

// AgeOn returns how many whole years a person born on d has lived on the given
// day. In a year that is not a leap year, a person born on 29 February turns a
// year older on 1 March. It is negative when the day is before the birth.
func (d Date) AgeOn(day Date) int {
	years := day.Year - d.Year
	if day.Before(Date{day.Year, d.Month, d.Day}) {
		years--
	}
	return years
}

// real reports whether the day exists in the calendar.
func (d Date) real() bool {
	return DateOf(time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC)) == d
}

// yearsAhead is how far in the future an expiry date may lie; a date further
// ahead is read as one of the century before. Passports are issued for ten
// years, some identity cards of elderly people for about forty.
const yearsAhead = 50

// birthDate reads YYMMDD of a birth. The zone does not state the century. It
// assumes the latest century in which the birth is not after today, so that the
// computed age is never too high.
func birthDate(text string, today Date) (Date, bool) {
	d, ok := readDate(text, today.Year-today.Year%100)
	if !ok {
		return Date{}, false
	}
	if today.Before(d) {
		d.Year -= 100
	}
	return d, d.real()
}

// expiryDate reads YYMMDD of an expiry, at most yearsAhead from today.
func expiryDate(text string, today Date) (Date, bool) {
	d, ok := readDate(text, today.Year-today.Year%100)
	if !ok {
		return Date{}, false
	}
	for d.Year > today.Year+yearsAhead {
		d.Year -= 100
	}
	for d.Year <= today.Year+yearsAhead-100 {
		d.Year += 100
	}
	return d, d.real()
}

// readDate reads six digits as a date in the century that begins with the given
// year.
func readDate(text string, century int) (Date, bool) {
	var digits [6]int
	for i := range digits {
		if text[i] < '0' || text[i] > '9' {
			return Date{}, false
		}
		digits[i] = int(text[i] - '0')
	}
	return Date{century + 10*digits[0] + digits[1], time.Month(10*digits[2] + digits[3]), 10*digits[4] + digits[5]}, true
}
