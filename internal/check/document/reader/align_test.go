package reader

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/document/glyph"
	"agegate/internal/check/document/mrz"
	"agegate/internal/check/document/mrz/mrztest"

	"pgregory.net/rapid"
)

var today = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// certain is a cell that the network is fairly sure of.
func certain(class int) (logs [glyph.Classes]float32) {
	for i := range logs {
		logs[i] = -5
	}
	logs[class] = -0.05
	return logs
}

// gridOf writes lines into a grid with a number of junk columns on both sides.
func gridOf(lines []string, before, after int) (g grid) {
	for _, line := range lines {
		var row [][glyph.Classes]float32
		for range before {
			row = append(row, certain(glyph.Junk))
		}
		for _, char := range []byte(line) {
			row = append(row, certain(strings.IndexByte(mrz.Alphabet, char)))
		}
		for range after {
			row = append(row, certain(glyph.Junk))
		}
		g.rows = append(g.rows, row)
	}
	return g
}

// TestAlign: every format is recognized at any position of the grid, even with
// some misread cells.
func TestAlign(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		format := rapid.SampledFrom(mrz.Formats).Draw(t, "format")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		lines := mrztest.Zone(format, mrztest.Random(random, today))
		before := rapid.IntRange(0, 9).Draw(t, "before")
		g := gridOf(lines, before, rapid.IntRange(0, 9).Draw(t, "after"))
		for range rapid.IntRange(0, 4).Draw(t, "misread") {
			r, c := random.IntN(len(g.rows)), random.IntN(len(g.rows[0]))
			if r == 0 && c == before {
				continue // TD2 and MRV-B hardly differ otherwise
			}
			g.rows[r][c] = certain(random.IntN(glyph.Classes))
		}
		a, ok := g.align(mrz.Formats)
		if !ok || a.format != format || a.row != 0 || a.column != before {
			t.Fatalf("%v at %d: got %+v", format, before, a)
		}
	})
}

// TestAlignReads: written text is read back, a letter in the place of a digit is
// replaced by the likeliest digit, and no check digit changes a character.
func TestAlignReads(t *testing.T) {
	lines := []string{"P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F1204159ZE184226B<<<<<10"}
	g := gridOf(lines, 2, 2)
	// The 0 of the birth year 74-08 looks more like an O than like any digit.
	cell := &g.rows[1][2+15]
	*cell = certain(strings.IndexByte(mrz.Alphabet, 'O'))
	cell[0] = -3
	a, _ := g.align(mrz.Formats)
	got, _ := g.read(a)
	if !slices.Equal(got, lines) {
		t.Errorf("got %v", got)
	}
	// A clear 9 in place of the 8 stays, although the check digits then fail.
	g.rows[1][2+16] = certain(9)
	got, _ = g.read(a)
	if r := mrz.Decode(a.format, got, today); got[1][16] != '9' || r.Valid {
		t.Errorf("got %s, valid %v", got[1], r.Valid)
	}
}

// TestAlignThreeRows: a line of other text above a zone of two lines is left out.
func TestAlignThreeRows(t *testing.T) {
	lines := []string{"P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F1204159ZE184226B<<<<<10"}
	g := gridOf(append([]string{strings.Repeat("A1<", 14) + "AB"}, lines...), 3, 3)
	for i := range g.rows[0] {
		if i%2 == 0 {
			g.rows[0][i] = certain(glyph.Junk)
		}
	}
	a, _ := g.align(mrz.Formats)
	if got, _ := g.read(a); a.format != mrz.TD3 || a.row != 1 || !slices.Equal(got, lines) {
		t.Errorf("got %+v: %v", a, got)
	}
}
