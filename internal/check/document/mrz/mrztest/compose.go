// Package mrztest writes machine-readable zones of invented people, for tests
// and measurements.
package mrztest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"agegate/internal/check/document/date"
	"agegate/internal/check/document/mrz"
)

// Person is the content of a zone. Fields must be written in the zone's alphabet and
// fit their places; longer text is cut off.
type Person struct {
	State, Nationality string // codes of up to three letters
	Surname, Given     string
	Number             string    // beyond nine characters it continues in the optional data of TD1 and TD2
	Sex                byte      // 'M', 'F' or '<'
	Birth, Expiry      date.Date // each of one day
	Optional           string
}

// Zone writes the lines of a zone with its check digits.
func Zone(format mrz.Format, p Person) []string {
	name := strings.ReplaceAll(p.Surname+"<<"+p.Given, " ", "<")
	birth, expiry := short(p.Birth), short(p.Expiry)
	dates := birth + check(birth) + string(p.Sex) + expiry + check(expiry)
	number := pad(p.Number, 9)
	numberCheck, optional := check(number), p.Optional
	if len(p.Number) > 9 {
		numberCheck, optional = "<", p.Number[9:]+check(p.Number)+"<"+p.Optional
	}
	state, nationality := pad(p.State, 3), pad(p.Nationality, 3)
	switch format {
	case mrz.TD1:
		first := number + numberCheck + pad(optional, 15)
		composite := check(first + birth + check(birth) + expiry + check(expiry) + pad("", 11))
		return []string{"I<" + state + first, dates + nationality + pad("", 11) + composite, pad(name, 30)}
	case mrz.TD2:
		optional = pad(optional, 7)
		composite := check(number + numberCheck + birth + check(birth) + expiry + check(expiry) + optional)
		return []string{"I<" + state + pad(name, 31), number + numberCheck + nationality + dates + optional + composite}
	case mrz.TD3:
		optional = pad(p.Optional, 14)
		optional += check(optional)
		composite := check(number + numberCheck + birth + check(birth) + expiry + check(expiry) + optional)
		return []string{"P<" + state + pad(name, 39), number + numberCheck + nationality + dates + optional + composite}
	case mrz.MRVA:
		return []string{"V<" + state + pad(name, 39), number + numberCheck + nationality + dates + pad(p.Optional, 16)}
	case mrz.MRVB:
		return []string{"V<" + state + pad(name, 31), number + numberCheck + nationality + dates + pad(p.Optional, 8)}
	}
	panic("mrztest: no such format")
}

// Random invents a person whose document is valid on the day.
func Random(random *rand.Rand, today time.Time) Person {
	state := pick(random, states)
	p := Person{
		State: state, Nationality: state,
		Surname: pick(random, surnames), Given: pick(random, given),
		Sex:    "MF<"[random.IntN(3)],
		Birth:  date.Of(today.AddDate(0, 0, -random.IntN(365*90))),
		Expiry: date.Of(today.AddDate(0, 0, 1+random.IntN(365*10))),
	}
	if random.IntN(2) == 0 {
		p.Given += " " + pick(random, given)
	}
	for range 9 {
		p.Number += string("0123456789ABCDEFGHJKLMNPRTUVWXYZ"[random.IntN(32)])
	}
	if random.IntN(3) == 0 {
		p.Optional = fmt.Sprintf("%07d", random.IntN(1e7))
	}
	return p
}

func pick(random *rand.Rand, from []string) string { return from[random.IntN(len(from))] }

func pad(text string, n int) string {
	if len(text) > n {
		return text[:n]
	}
	return text + strings.Repeat("<", n-len(text))
}

func short(d date.Date) string { return d.Latest.Format("060102") }

func check(text string) string { return string(mrz.CheckDigit(text)) }

var (
	states = []string{"UTO", "D", "FRA", "ESP", "ITA", "POL", "NLD", "SWE", "GBR", "USA", "JPN", "BRA", "ZAF", "KEN",
		"IND", "AUS"}
	surnames = []string{"ERIKSSON", "MUELLER", "GARCIA LOPEZ", "KOWALSKI", "VAN DER BERG", "OCONNOR", "DJURIC", "NGUYEN",
		"SMITH", "QUINTEROS", "WOJCIECHOWSKA", "BANGIZIBWE", "YAMAZAKI", "FERREIRA DA SILVA", "LINDQVIST", "HAXHIU",
		"OEZTUERK", "XU"}
	given = []string{"ANNA MARIA", "JOHN", "ZOE", "LUKAS", "PEDRO", "KATARZYNA", "WILLEM", "FIONA", "JOVAN", "THI HOA",
		"BETTY", "XIMENA", "VICTOR", "GRACE", "YUKI", "RUI", "ASTRID", "QENDRIM", "MEHMET", "JU"}
)
