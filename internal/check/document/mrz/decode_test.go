package mrz_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/document/date"
	"agegate/internal/check/document/mrz"
	"agegate/internal/check/document/mrz/mrztest"

	"pgregory.net/rapid"
)

var today = time.Date(2012, 1, 1, 12, 0, 0, 0, time.UTC)

// TestExamples reads the examples of Doc 9303.
func TestExamples(t *testing.T) {
	for _, row := range []struct {
		name          string
		format        mrz.Format
		lines         []string
		birth, expiry string
		state         string
	}{
		{"part 4, appendix B", mrz.TD3, []string{"P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<",
			"L898902C36UTO7408122F1204159ZE184226B<<<<<10"}, "1974-08-12", "2012-04-15", "UTO"},
		{"part 5, appendix B", mrz.TD1, []string{"I<UTOD231458907<<<<<<<<<<<<<<<", "7408122F1204159UTO<<<<<<<<<<<6",
			"ERIKSSON<<ANNA<MARIA<<<<<<<<<<"}, "1974-08-12", "2012-04-15", "UTO"},
		{"part 5, a long number", mrz.TD1, []string{"I<UTOD23145890<7349<<<<<<<<<<<", "3407127M9507122UTO<<<<<<<<<<<2",
			"STEVENSON<<PETER<JOHN<<<<<<<<<"}, "1934-07-12", "1995-07-12", "UTO"},
		{"part 6, appendix B", mrz.TD2, []string{"I<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<",
			"D231458907UTO7408122F1204159<<<<<<<6"}, "1974-08-12", "2012-04-15", "UTO"},
		{"part 6, a long number", mrz.TD2, []string{"I<UTOSTEVENSON<<PETER<JOHN<<<<<<<<<<",
			"D23145890<UTO3407127M95071227349<<<8"}, "1934-07-12", "1995-07-12", "UTO"},
		{"part 7, appendix B", mrz.MRVA, []string{"V<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<",
			"L8988901C4XXX4009078F96121096ZE184226B<<<<<<"}, "1940-09-07", "1996-12-10", "UTO"},
		{"part 7, appendix B, small", mrz.MRVB,
			[]string{"V<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<", "L8988901C4XXX4009078F9612109<<<<<<<<"}, "1940-09-07", "1996-12-10",
			"UTO"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := mrz.Decode(row.format, row.lines, today)
			if !r.Valid || len(r.Reasons) != 0 {
				t.Fatalf("not valid: %v", r.Reasons)
			}
			if r.BirthDate.String() != row.birth || r.ExpiryDate.String() != row.expiry || r.IssuingState != row.state {
				t.Errorf("got %v, %v, %q", r.BirthDate, r.ExpiryDate, r.IssuingState)
			}
		})
	}
}

// TestCheckDigit checks the examples of part 3, section 4.9.
func TestCheckDigit(t *testing.T) {
	for text, want := range map[string]byte{
		"520727": '3', "AB2134<<<": '5', "HA672242<": '6', "HA672242<658022549601086<<<<<<<<<<<<<<0": '8',
	} {
		if got := mrz.CheckDigit(text); got != want {
			t.Errorf("CheckDigit(%s) is %c, want %c", text, got, want)
		}
	}
}

// TestReasons damages the TD3 example in one way at a time.
func TestReasons(t *testing.T) {
	const first, second = "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F1204159ZE184226B<<<<<10"
	// dated returns the example with other dates and correct check digits.
	dated := func(birth, expiry string) []string {
		number := "L898902C3" + "6"
		birth += string(mrz.CheckDigit(birth))
		expiry += string(mrz.CheckDigit(expiry))
		optional := "ZE184226B<<<<<1"
		return []string{first, number + "UTO" + birth + "F" +
			expiry + optional + string(mrz.CheckDigit(number, birth, expiry, optional))}
	}
	for _, row := range []struct {
		name  string
		lines []string
		want  []mrz.Reason
	}{
		{"number", []string{first, "L898902D36UTO7408122F1204159ZE184226B<<<<<10"},
			[]mrz.Reason{mrz.ReasonNumberCheck, mrz.ReasonCompositeCheck}},
		{"birth", []string{first, "L898902C36UTO7408132F1204159ZE184226B<<<<<10"},
			[]mrz.Reason{mrz.ReasonCompositeCheck, mrz.ReasonBirthCheck}},
		{"expiry", []string{first, "L898902C36UTO7408122F1204169ZE184226B<<<<<10"},
			[]mrz.Reason{mrz.ReasonCompositeCheck, mrz.ReasonExpiryCheck}},
		{"optional", []string{first, "L898902C36UTO7408122F1204159ZE184226B<<<<<20"},
			[]mrz.Reason{mrz.ReasonOptionalCheck, mrz.ReasonCompositeCheck}},
		{"composite", []string{first, "L898902C36UTO7408122F1204159ZE184226B<<<<<11"},
			[]mrz.Reason{mrz.ReasonCompositeCheck}},
		{"state", []string{"P<QQAERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", second}, []mrz.Reason{mrz.ReasonIssuingState}},
		{"a day that 2011 did not have", dated("110229", "120415"), []mrz.Reason{mrz.ReasonBirthDate}},
		{"a day that 2012 had", dated("800229", "120229"), nil},
		{"no day", dated("7408<<", "120415"), []mrz.Reason{mrz.ReasonBirthPart}},
		{"no month", dated("740000", "120415"), []mrz.Reason{mrz.ReasonBirthPart}},
		{"no birth", dated("<<<<<<", "120415"), []mrz.Reason{mrz.ReasonBirthDate}},
		{"no birth, in zeros", dated("000000", "120415"), []mrz.Reason{mrz.ReasonBirthDate}},
		{"no year", dated("<<0812", "120415"), []mrz.Reason{mrz.ReasonBirthDate}},
		{"half a day", dated("74081<", "120415"), []mrz.Reason{mrz.ReasonBirthDate}},
		{"no end", dated("740812", "<<<<<<"), nil},
		{"an end in zeros", dated("740812", "000000"), []mrz.Reason{mrz.ReasonExpiryDate}},
		{"an end without a year", dated("740812", "<<0415"), []mrz.Reason{mrz.ReasonExpiryDate}},
		{"an unknown end's check digit", []string{first, "L898902C36UTO7408122F<<<<<<<ZE184226B<<<<<10"}, nil},
		{"a known end without its check digit", []string{first, "L898902C36UTO7408122F120415<ZE184226B<<<<<11"},
			[]mrz.Reason{mrz.ReasonExpiryCheck}},
		{"thirteenth month", dated("741312", "120415"), []mrz.Reason{mrz.ReasonBirthDate}},
		{"expired before birth", dated("100812", "090415"), []mrz.Reason{mrz.ReasonDates}},
		{"a letter in a date", []string{first, "L898902C36UTO74O8122F1204159ZE184226B<<<<<10"},
			[]mrz.Reason{mrz.ReasonCharacters}},
		{"small letters", []string{first, strings.ToLower(second)}, []mrz.Reason{mrz.ReasonCharacters}},
		{"a short line", []string{first, second[1:]}, []mrz.Reason{mrz.ReasonFormat}},
		{"one line", []string{first}, []mrz.Reason{mrz.ReasonFormat}},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := mrz.Decode(mrz.TD3, row.lines, today)
			if !slices.Equal(r.Reasons, row.want) {
				t.Errorf("got %v, want %v", r.Reasons, row.want)
			}
			if valid := !slices.ContainsFunc(row.want, breaks); r.Valid != valid {
				t.Errorf("valid: %v", r.Valid)
			}
		})
	}
}

// breaks reports whether a zone with the reason is not valid.
func breaks(reason mrz.Reason) bool {
	return reason != mrz.ReasonIssuingState && reason != mrz.ReasonBirthPart
}

// TestCenturies: a birth gets the latest possible century, an expiry the
// nearest one.
func TestCenturies(t *testing.T) {
	for _, row := range []struct {
		now, birth, expiry         string
		wantBirth, wantExpiry, why string
	}{
		{"2026-11-21", "261121", "361121", "2026-11-21", "2036-11-21", "born today"},
		{"2026-11-21", "261122", "361121", "1926-11-22", "2036-11-21", "born tomorrow a hundred years ago"},
		{"2026-11-21", "000101", "990102", "2000-01-01", "1999-01-02", "expired last century"},
		{"2026-11-21", "26<<<<", "99<<<<", "2026-01-01/2026-12-31", "1999-01-01/1999-12-31", "born this year"},
		{"2026-11-21", "2612<<", "2612<<", "1926-12-01/1926-12-31", "2026-12-01/2026-12-31", "not born next month"},
		{"2026-11-21", "480000", "<<<<<<", "1948-01-01/1948-12-31", "9999-12-31", "a year in zeros, no end"},
		{"2026-11-21", "4806<<", "999999", "1948-06-01/1948-06-30", "9999-12-31", "a month, no day of the calendar"},
		{"2026-11-21", "48<<12", "990101", "1948-01-12/1948-12-12", "9999-12-31", "no month, the first of 9999"},
		{"2026-11-21", "480229", "991231", "1948-02-29", "9999-12-31", "the last of 9999"},
		{"2026-11-21", "000229", "301300", "2000-02-29", "", "no month of the calendar"},
		{"2026-11-21", "000229", "760101", "2000-02-29", "2076-01-01", "fifty years ahead"},
		{"2099-12-31", "990101", "050101", "2099-01-01", "2105-01-01", "the turn of a century"},
		{"2101-06-01", "991231", "050101", "2099-12-31", "2105-01-01", "after it"},
	} {
		now, err := time.Parse(time.DateOnly, row.now)
		if err != nil {
			t.Fatal(err)
		}
		birth, expiry := row.birth+string(mrz.CheckDigit(row.birth)), row.expiry+string(mrz.CheckDigit(row.expiry))
		number := "L898902C" + "3" + "6"
		optional := strings.Repeat("<", 15)
		line := number + "UTO" + birth + "F" + expiry + optional + string(mrz.CheckDigit(number, birth, expiry, optional))
		r := mrz.Decode(mrz.TD3, []string{"P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", line}, now)
		if r.BirthDate.String() != row.wantBirth || r.ExpiryDate.String() != row.wantExpiry {
			t.Errorf("%s: got %v and %v, want %s and %s", row.why, r.BirthDate, r.ExpiryDate, row.wantBirth, row.wantExpiry)
		}
	}
}

// TestRoundTrip: the zone of any person is read correctly.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(rapid.Int64Range(946684800, 4102444800).Draw(t, "now"), 0).UTC()
		p := mrztest.Random(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), now)
		format := rapid.SampledFrom(mrz.Formats).Draw(t, "format")
		if format == mrz.TD1 || format == mrz.TD2 {
			p.Number += rapid.StringMatching(`[0-9A-Z]{0,4}`).Draw(t, "rest of the number")
			p.Optional = ""
		}
		lines := mrztest.Zone(format, p)
		r := mrz.Decode(format, lines, now)
		if !r.Valid || r.BirthDate != p.Birth || r.ExpiryDate != p.Expiry || r.IssuingState != p.State {
			t.Fatalf("%v: %v, got %v and %v of %v", format, r.Reasons, r.BirthDate, r.ExpiryDate, lines)
		}
	})
}

// TestDigits: one wrong digit in a date never gives a valid zone.
func TestDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := mrztest.Random(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), today)
		format := rapid.SampledFrom(mrz.Formats).Draw(t, "format")
		lines := mrztest.Zone(format, p)
		at := 13 + rapid.SampledFrom([]int{0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14}).Draw(t, "digit")
		if format == mrz.TD1 {
			at -= 13
		}
		line := []byte(lines[1])
		line[at] = '0' + (line[at]-'0'+byte(rapid.IntRange(1, 9).Draw(t, "change")))%10
		lines[1] = string(line)
		if r := mrz.Decode(format, lines, today); r.Valid {
			t.Fatalf("valid: %v", lines)
		}
	})
}

func FuzzDecode(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, format := range mrz.Formats {
		f.Add(int(format), strings.Join(mrztest.Zone(format, mrztest.Random(random, today)), "\n"))
	}
	f.Fuzz(func(t *testing.T, format int, text string) {
		r := mrz.Decode(mrz.Format(format), strings.Split(text, "\n"), today)
		if r.Valid && (!r.BirthDate.CanBeBirth(date.Of(today)) ||
			!r.BirthDate.Earliest.Before(r.ExpiryDate.Latest)) {
			t.Errorf("valid with born %v, expires %v", r.BirthDate, r.ExpiryDate)
		}
		if !r.Valid && len(r.Reasons) == 0 {
			t.Error("neither valid nor a reason")
		}
	})
}
