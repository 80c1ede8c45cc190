package capture

import (
	"image"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/document/date"
	"agegate/internal/check/document/mrz"
	"agegate/internal/check/document/mrz/mrztest"
	"agegate/internal/check/document/reader"
	"agegate/internal/check/document/reader/readertest"
)

// covered covers a part of the zone in the pictures of a specimen, see
// readertest.Cover.
func covered(t *testing.T, picture func() image.Image, from, to float64, shade uint8) func() image.Image {
	t.Helper()
	zones, err := reader.New()
	if err != nil {
		t.Fatal(err)
	}
	whole := zones.Read(reader.Grey(picture()), today)
	if !whole.Valid {
		t.Fatal("the specimen is not read")
	}
	return func() image.Image { return readertest.Cover(reader.Grey(picture()), whole.Corners, from, to, shade) }
}

// TestJoin: frames that show different parts of a zone lead as far as whole ones,
// once three of them have shown each date; while the document is tilted, a part is
// not enough.
func TestJoin(t *testing.T) {
	// On the card's second line, the birth date ends after a fifth and the expiry
	// date at the middle.
	picture := specimen(t, "td1.jpg")
	early, late := covered(t, picture, 0.05, 0.2, 120), covered(t, picture, 0.8, 0.95, 255)
	for _, row := range []struct {
		frames string
		want   Step
	}{
		{"ll", Step{Find, ZoneGlare}},
		{"llll", Step{Find, ZoneGlare}}, // the end of the zone was not seen
		{"eeee", Step{Find, ZoneCovered}},
		{"elle", Step{Find, ZoneCovered}}, // the birth date was seen twice
		{"lwl", Step{Tilt, ""}},
		{"llel", Step{Tilt, ""}},
	} {
		c := open(t, faceless{})
		var step Step
		for _, kind := range row.frames {
			var err error
			if step, err = c.Frame(t.Context(), map[rune]func() image.Image{'e': early, 'l': late,
				'w': picture}[kind]()); err != nil {
				t.Fatal(err)
			}
		}
		if step.Stage != row.want.Stage || row.want.Stage == Find && step != row.want {
			t.Errorf("%s: %+v, want %+v", row.frames, step, row.want)
			continue
		}
		if step.Stage != Tilt {
			continue
		}
		if d := c.Document(); !d.Zone.Valid || d.Zone.BirthDate.String() != "1974-08-12" || d.Zone.IssuingState != "UTO" {
			t.Errorf("%s: %+v", row.frames, d.Zone)
		}
		frames := c.zones.leading().frames
		if step, err := c.Frame(t.Context(), early()); err != nil || step.Stage != Tilt ||
			c.zones.leading().frames != frames {
			t.Errorf("%s: a part counts while the document is tilted: %+v, %v", row.frames, step, err)
		}
	}
}

// masked returns what a frame shows of a zone in which some columns are hidden.
func masked(format mrz.Format, lines []string, from, to int) *reader.Part {
	p := &reader.Part{Format: format}
	for _, line := range lines {
		p.Lines = append(p.Lines, line[:from]+strings.Repeat(string(reader.Unseen), to-from)+line[to:])
	}
	return p
}

// TestParts: a frame that contradicts the earlier ones is ignored once, and then
// begins new parts; so do another format and a gap.
func TestParts(t *testing.T) {
	_, lines := read('L', "UTO")
	_, other := read('K', "UTO")
	for _, row := range []struct {
		name   string
		frames string // l and o: the left half of the zone and of another; r and p: the right half; 1: a card; _: a gap
		agree  string // which frames agree with those before
		shown  byte   // the first character of the document number, 0 if none was shown
	}{
		{"one zone", "llr", "yyy", 'L'},
		{"one stray frame", "llol", "yyny", 'L'},
		{"another document", "lloo", "yyny", 'K'},
		{"another format", "l1", "yy", 0},
		{"after a gap", "l_r", "yy", 0},
	} {
		var p parts
		now, agree := today, ""
		for _, kind := range row.frames {
			now = now.Add(time.Second)
			var seen *reader.Part
			switch kind {
			case 'l':
				seen = masked(mrz.TD3, lines, 30, 40)
			case 'o':
				seen = masked(mrz.TD3, other, 30, 40)
			case 'r':
				seen = masked(mrz.TD3, lines, 0, 12)
			case '1':
				seen = masked(mrz.TD1, mrztest.Zone(mrz.TD1, mrztest.Person{}), 0, 8)
			default:
				now = now.Add(longestGap)
				continue
			}
			agree += map[bool]string{true: "y", false: "n"}[p.add(seen, now)]
		}
		if agree != row.agree {
			t.Errorf("%s: %s, want %s", row.name, agree, row.agree)
		}
		if got := p.chars[1][0]; got != row.shown && row.shown != 0 || row.shown == 0 && p.frames[0][0] > 0 {
			t.Errorf("%s: the number begins with %q", row.name, got)
		}
	}
}

// TestNoMixedDate: whatever parts of two documents of one person are shown, in any
// order, a zone that is joined has only dates that three frames have shown whole,
// and both documents' other characters never contradict it.
func TestNoMixedDate(t *testing.T) {
	random := rand.New(rand.NewPCG(9303, 1))
	joined := 0
	for range 3000 {
		format := []mrz.Format{mrz.TD1, mrz.TD2, mrz.TD3}[random.IntN(3)]
		person := mrztest.Random(random, today)
		renewed := person
		renewed.Number = mrztest.Random(random, today).Number
		renewed.Expiry = date.Of(person.Expiry.Latest.AddDate(random.IntN(3), 0, 0))
		renewed.Birth = date.On(person.Birth.Latest.Year(), person.Birth.Latest.Month(), 1+random.IntN(28))
		zones := [][]string{mrztest.Zone(format, person), mrztest.Zone(format, renewed)}
		var p parts
		whole := map[string]int{} // frames that show a date whole
		now := today
		for range 12 {
			now = now.Add(time.Second)
			from := random.IntN(format.Length())
			to := min(format.Length(), from+random.IntN(format.Length()/2))
			seen := masked(format, zones[random.IntN(2)], from, to)
			lines := format.WholeDates(seen.Lines, reader.Unseen)
			for _, date := range dates(format, lines) {
				whole[date]++
			}
			p.add(seen, now)
			all, ok := p.zone()
			if !ok || !mrz.Decode(format, all, today).Valid {
				continue
			}
			joined++
			for _, date := range dates(format, all) {
				if whole[date] < agreeing {
					t.Fatalf("%v: a date was shown whole by %d frames", format, whole[date])
				}
			}
			if !slices.ContainsFunc(zones, func(z []string) bool { return slices.Equal(dates(format, z), dates(format, all)) }) {
				t.Fatalf("%v: the dates are those of neither document", format)
			}
		}
	}
	if joined < 100 {
		t.Errorf("only %d zones were joined", joined)
	}
}

// dates returns the dates of a zone that are seen, each with its check digit and
// its place.
func dates(format mrz.Format, lines []string) (all []string) {
	for l, line := range lines {
		for i := 0; i < len(line); i++ {
			if !format.InDate(l, i) {
				continue
			}
			from := i
			for i < len(line) && format.InDate(l, i) && i < from+7 {
				i++
			}
			if text := line[from:i]; !strings.Contains(text, string(reader.Unseen)) {
				all = append(all, string(rune('0'+from))+text)
			}
			i--
		}
	}
	return all
}
