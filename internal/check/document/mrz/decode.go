package mrz

import (
	"slices"
	"strings"
	"time"

	"agegate/internal/check/document/date"
)

// Reason is a rule that a zone breaks.
type Reason string

// The reasons. They never contain anything that was read.
const (
	ReasonFormat         Reason = "format"                   // number or length of the lines
	ReasonCharacters     Reason = "characters"               // a character that its position does not allow
	ReasonNumberCheck    Reason = "document_number_check"    // check digits
	ReasonBirthCheck     Reason = "birth_date_check"         //
	ReasonExpiryCheck    Reason = "expiry_date_check"        //
	ReasonOptionalCheck  Reason = "optional_data_check"      //
	ReasonCompositeCheck Reason = "composite_check"          //
	ReasonBirthDate      Reason = "birth_date"               // no year, or not a date of the calendar
	ReasonExpiryDate     Reason = "expiry_date"              //
	ReasonDates          Reason = "expiry_date_before_birth" // both dates are valid, but in an impossible order
	// not a code of Doc 9303 part 3, section 5; the zone may still be valid.
	ReasonIssuingState Reason = "issuing_state_unknown"
	// the month or the day is missing; the zone may still be valid.
	ReasonBirthPart Reason = "birth_date_partial"
)

// Result is the content of a zone, as far as the age check needs it. Names are not
// decoded.
type Result struct {
	Format       Format
	Valid        bool      // format, characters, every check digit and both dates are correct
	BirthDate    date.Date // zero unless readable and confirmed by its check digit
	ExpiryDate   date.Date // the last day of validity; zero unless readable and confirmed by its check digit
	IssuingState string    // code of one to three letters; "" if the code is unknown
	Reasons      []Reason  // the rules that the zone breaks, each once
}

// Decode reads a zone of the given format, its lines from the top. Two-digit
// years are completed relative to the day of now. It never fails; problems are
// listed in Reasons.
func Decode(format Format, lines []string, now time.Time) Result {
	r := Result{Format: format}
	if format <= Unknown || format > MRVB || len(lines) != format.Lines() ||
		slices.ContainsFunc(lines, func(line string) bool { return len(line) != format.Length() }) {
		r.Reasons = []Reason{ReasonFormat}
		return r
	}
	if !allowed(format, lines) {
		r.Reasons = []Reason{ReasonCharacters}
		return r
	}
	at, today := fieldsOf[format], date.Of(now)
	r.require(numberHolds(at, lines), ReasonNumberCheck)
	r.require(at.optional == (span{}) || optionalHolds(at.optional, lines), ReasonOptionalCheck)
	last := lines[at.compositeCheckLine]
	r.require(at.composite == nil || CheckDigit(format.Checked(lines)) == last[len(last)-1], ReasonCompositeCheck)
	r.BirthDate = r.date(at.birth, lines, today, birthDate, ReasonBirthCheck, ReasonBirthDate)
	r.ExpiryDate = r.date(at.expiry, lines, today, expiryDate, ReasonExpiryCheck, ReasonExpiryDate)
	if r.BirthDate != (date.Date{}) && r.ExpiryDate != (date.Date{}) {
		r.require(r.BirthDate.Earliest.Before(r.ExpiryDate.Latest), ReasonDates)
	}
	r.Valid = len(r.Reasons) == 0
	r.require(r.BirthDate == (date.Date{}) || r.BirthDate.IsDay(), ReasonBirthPart)
	if state := strings.TrimRight(at.state.of(lines), string(Filler)); IsState(state) {
		r.IssuingState = state
	} else {
		r.require(false, ReasonIssuingState)
	}
	return r
}

func (r *Result) require(holds bool, reason Reason) {
	if !holds {
		r.Reasons = append(r.Reasons, reason)
	}
}

// date reads a date and its check digit, the character after it. The check digit of
// an unknown date may be a filler.
func (r *Result) date(
	s span, lines []string, today date.Date, read func(string, date.Date) (date.Date, bool), check, reason Reason,
) date.Date {
	text, digit := s.of(lines), lines[s.line][s.to]
	holds := CheckDigit(text) == digit || text == unknown && digit == Filler
	d, ok := read(text, today)
	r.require(holds, check)
	r.require(ok, reason)
	if !holds || !ok {
		return date.Date{}
	}
	return d
}

func allowed(format Format, lines []string) bool {
	for l, line := range lines {
		for i := range len(line) {
			class := layouts[format][l][i]
			if class == 'n' {
				class = '*'
			}
			if !classes[class].Has(line[i]) {
				return false
			}
		}
	}
	return true
}

// numberHolds checks the document number. If a number has more than nine characters,
// its check digit is a filler, and the number continues in the optional data. The last
// character before a filler is then the check digit (parts 5 and 6, section 4.2.2).
func numberHolds(at fields, lines []string) bool {
	number, check := at.number.of(lines), lines[at.number.line][at.number.to]
	if check != Filler {
		return CheckDigit(number) == check
	}
	if at.overflow == (span{}) {
		return false
	}
	rest, _, _ := strings.Cut(at.overflow.of(lines), string(Filler))
	if len(rest) < 2 {
		return false
	}
	return CheckDigit(number, rest[:len(rest)-1]) == rest[len(rest)-1]
}

// optionalHolds checks optional data that have their own check digit. The check
// digit may be a filler if there are no data (part 4, section 4.2.2).
func optionalHolds(s span, lines []string) bool {
	data, check := s.of(lines), lines[s.line][s.to]
	if check == Filler {
		return strings.Trim(data, string(Filler)) == ""
	}
	return CheckDigit(data) == check
}
