package mrz

import (
	"strconv"
	"strings"

	"agegate/internal/check/document/date"
)

// yearsAhead is how far in the future an expiry date may lie. A date further ahead is
// read as one of the century before. Passports are issued for ten years, and some
// identity cards of elderly people for about forty.
const yearsAhead = 50

// unknown is a date of which nothing is known.
const unknown = "<<<<<<"

// endless are the expiry dates of documents that do not expire: fillers, a date that
// the calendar does not have, and the first and the last day of 9999.
var endless = map[string]bool{unknown: true, "999999": true, "990101": true, "991231": true}

// birthDate reads a birth date as YYMMDD; its month and day may be unknown. The zone
// does not state the century. birthDate assumes the latest century in which the birth
// is not after today, so that the computed age is never too high.
func birthDate(text string, today date.Date) (date.Date, bool) {
	year := today.Latest.Year()
	d, ok := readDate(text, year-year%100)
	if ok && d.Earliest.After(today.Latest) {
		d, ok = readDate(text, year-year%100-100)
	}
	return d, ok
}

// expiryDate reads an expiry date as YYMMDD. It is at most yearsAhead from today.
func expiryDate(text string, today date.Date) (date.Date, bool) {
	if endless[text] {
		return date.NoEnd, true
	}
	year := today.Latest.Year()
	d, ok := readDate(text, year-year%100)
	switch {
	case ok && d.Latest.Year() > year+yearsAhead:
		return readDate(text, year-year%100-100)
	case ok && d.Latest.Year() <= year+yearsAhead-100:
		return readDate(text, year-year%100+100)
	}
	return d, ok
}

// readDate reads six characters as a date in the century that begins with the given
// year. A month or a day of two fillers or two zeros is unknown. Six zeros are no date,
// because they need not mean the year 2000.
func readDate(text string, century int) (date.Date, bool) {
	if text == "000000" {
		return date.Date{}, false
	}
	year, err := strconv.ParseUint(text[:2], 10, 8)
	if err != nil {
		return date.Date{}, false
	}
	month, knownMonth := part(text[2:4])
	day, knownDay := part(text[4:])
	d, exists := date.Partial(century+int(year), month, day)
	return d, knownMonth && knownDay && exists
}

// part reads a month or a day; 0 if it is unknown.
func part(text string) (int, bool) {
	number, err := strconv.ParseUint(strings.Replace(text, "<<", "00", 1), 10, 8)
	return int(number), err == nil
}
