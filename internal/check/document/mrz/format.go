// Package mrz decodes the machine-readable zone of travel documents: its five
// formats, the characters allowed at each position, its check digits and its
// dates. Source: ICAO Doc 9303, Machine Readable Travel Documents, eighth
// edition, parts 3 (check digits, dates), 4 (TD3), 5 (TD1), 6 (TD2) and 7
// (visas). The package is pure, and it never repairs its input.
package mrz

import (
	"slices"
	"strings"
)

// Format is one of the five layouts of a machine-readable zone.
type Format int

// The formats, by the documents that carry them.
const (
	Unknown Format = iota
	TD1            // identity cards of bank-card size, three lines of 30
	TD2            // larger identity cards, two lines of 36
	TD3            // passports, two lines of 44
	MRVA           // visas of full size, two lines of 44
	MRVB           // smaller visas, two lines of 36
)

// Formats lists every format.
var Formats = []Format{TD1, TD2, TD3, MRVA, MRVB}

// String returns the name that ICAO Doc 9303 uses, or "" for Unknown.
func (f Format) String() string {
	return [...]string{"", "TD1", "TD2", "TD3", "MRV-A", "MRV-B"}[f]
}

// IsVisa reports whether the format is a visa's. Visas have no composite check
// digit.
func (f Format) IsVisa() bool { return f == MRVA || f == MRVB }

// Lines returns the number of lines.
func (f Format) Lines() int { return len(layouts[f]) }

// Length returns the number of characters in each line.
func (f Format) Length() int {
	if f == Unknown {
		return 0
	}
	return len(layouts[f][0])
}

// Alphabet holds every character of a zone. Its order is the order of the
// reader's classes.
const Alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ" + string(Filler)

// Filler fills positions without content.
const Filler = '<'

// Set is a set of characters: bit i stands for Alphabet[i].
type Set uint64

// Has reports whether the set holds the character.
func (s Set) Has(char byte) bool {
	i := strings.IndexByte(Alphabet, char)
	return i >= 0 && s>>i&1 == 1
}

func setOf(chars string) (s Set) {
	for i := range len(chars) {
		s |= 1 << strings.IndexByte(Alphabet, chars[i])
	}
	return s
}

// Allowed returns the characters that the reader should expect at a position, both
// counted from 0. The position must exist in the format.
func (f Format) Allowed(line, position int) Set {
	return classes[layouts[f][line][position]]
}

// classes are the character sets to which the layouts refer.
var classes = map[byte]Set{
	'#': setOf("0123456789"),
	'9': setOf("0123456789<"),
	'A': setOf("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
	'a': setOf("ABCDEFGHIJKLMNOPQRSTUVWXYZ<"),
	'n': setOf("ABCDEFGHIJKLMNOPQRSTUVWXYZ<"), // with a few digits, which the reader takes for letters
	'*': setOf(Alphabet),
	'V': setOf("V"),
	'T': setOf("ABCDEFGHIJKLMNOPQRSTUWXYZ"), // any letter but that of visas
	'S': setOf("MFX<"),
}

// layouts hold one character class for each position. States choose the code of their
// documents, so every code is allowed that is not a visa's. A birth or expiry date may
// have fillers if it is not known. The check digit of a date, a number or optional data
// may be a filler, if the date is not known, the number is longer than its field or
// there are no data. Some states write digits in a code, or for letters of names in
// other alphabets.
var layouts = [...][]string{
	Unknown: nil,
	TD1: {
		"Tnaaa" + repeat('*', 9) + "9" + repeat('*', 15),
		"9999999S9999999aaa" + repeat('*', 11) + "#",
		repeat('n', 30),
	},
	TD2: {
		"Tnaaa" + repeat('n', 31),
		repeat('*', 9) + "9aaa9999999S9999999" + repeat('*', 7) + "#",
	},
	TD3: {
		"Tnaaa" + repeat('n', 39),
		repeat('*', 9) + "#aaa9999999S9999999" + repeat('*', 14) + "9#",
	},
	MRVA: {
		"Vnaaa" + repeat('n', 39),
		repeat('*', 9) + "#aaa9999999S9999999" + repeat('*', 16),
	},
	MRVB: {
		"Vnaaa" + repeat('n', 31),
		repeat('*', 9) + "#aaa9999999S9999999" + repeat('*', 8),
	},
}

func repeat(class byte, n int) string { return strings.Repeat(string(class), n) }

// span is a run of characters of one line.
type span struct{ line, from, to int }

func (s span) of(lines []string) string { return lines[s.line][s.from:s.to] }

// fields gives the positions of a format's data.
type fields struct {
	state              span // issuing state or organization
	number, overflow   span // overflow is the rest of a long number; empty if there is none
	birth, expiry      span // YYMMDD, each followed by its check digit
	optional           span // followed by its check digit; empty if there are none
	composite          []span
	compositeCheckLine int // its last character is the composite check digit
}

var (
	td3Fields = fields{
		state: span{0, 2, 5}, number: span{1, 0, 9}, birth: span{1, 13, 19}, expiry: span{1, 21, 27},
		optional: span{1, 28, 42}, composite: []span{{1, 0, 10}, {1, 13, 20}, {1, 21, 43}}, compositeCheckLine: 1,
	}
	visaFields = fields{state: span{0, 2, 5}, number: span{1, 0, 9}, birth: span{1, 13, 19}, expiry: span{1, 21, 27}}
)

var fieldsOf = map[Format]fields{
	TD1: {
		state: span{0, 2, 5}, number: span{0, 5, 14}, overflow: span{0, 15, 30}, birth: span{1, 0, 6}, expiry: span{1, 8, 14},
		composite: []span{{0, 5, 30}, {1, 0, 7}, {1, 8, 15}, {1, 18, 29}}, compositeCheckLine: 1,
	},
	TD2: {
		state: span{0, 2, 5}, number: span{1, 0, 9}, overflow: span{1, 28, 35}, birth: span{1, 13, 19},
		expiry:    span{1, 21, 27},
		composite: []span{{1, 0, 10}, {1, 13, 20}, {1, 21, 35}}, compositeCheckLine: 1,
	},
	TD3:  td3Fields,
	MRVA: visaFields,
	MRVB: visaFields,
}

// Checked returns the characters of a zone that its composite check digit
// covers: document number, dates and optional data with their own check digits.
// It is "" for visas, which have no composite check digit. The lines must have
// the format's number and length.
func (f Format) Checked(lines []string) string {
	var text strings.Builder
	for _, s := range fieldsOf[f].composite {
		text.WriteString(s.of(lines))
	}
	return text.String()
}

// Needed reports whether the age check needs the character at a position, both counted
// from 0. It needs the first letter, the issuing state, all that the composite check
// digit covers, and that digit. It is false for visas.
func (f Format) Needed(line, position int) bool {
	at := fieldsOf[f]
	if at.composite == nil {
		return false
	}
	if line == 0 && position == 0 || line == at.compositeCheckLine && position == f.Length()-1 ||
		at.state.has(line, position) {
		return true
	}
	return slices.ContainsFunc(at.composite, func(s span) bool { return s.has(line, position) })
}

// InDate reports whether the character at a position, both counted from 0, belongs
// to a date or is its check digit.
func (f Format) InDate(line, position int) bool {
	at := fieldsOf[f]
	return at.birth.checked().has(line, position) || at.expiry.checked().has(line, position)
}

// checked returns the span with its check digit, the character after it.
func (s span) checked() span { return span{s.line, s.from, s.to + 1} }

func (s span) has(line, position int) bool {
	return line == s.line && position >= s.from && position < s.to
}

// WholeDates returns the lines of a zone in which every date is hidden that is not
// complete with a matching check digit. The characters of such a date and its check
// digit are replaced by unseen, which must not be in the Alphabet. The lines must have
// the format's number and length.
func (f Format) WholeDates(lines []string, unseen byte) []string {
	whole := slices.Clone(lines)
	for _, date := range []span{fieldsOf[f].birth, fieldsOf[f].expiry} {
		line, all := whole[date.line], date.checked()
		if strings.IndexByte(all.of(whole), unseen) >= 0 || CheckDigit(date.of(whole)) != line[date.to] {
			whole[date.line] = line[:all.from] + strings.Repeat(string(unseen), all.to-all.from) + line[all.to:]
		}
	}
	return whole
}
