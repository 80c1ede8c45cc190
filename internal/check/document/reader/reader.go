// Package reader finds the machine-readable zone of a travel document in a picture and
// reads it. It joins evenly spaced patches of ink to chains, fits a curve through each
// chain, and recognises the characters along it with a small network. Then it aligns
// the lines with the characters that each format allows. It keeps no part of a picture,
// and never changes a character to make a check digit match.
package reader

import (
	"cmp"
	"image"
	"math"
	"slices"
	"time"

	"agegate/internal/check/document/glyph"
	"agegate/internal/check/document/mrz"
)

// Reader reads zones. It may be used by many goroutines at once.
type Reader struct{ weights *glyph.Weights }

// New returns a reader with the embedded weights.
func New() (*Reader, error) {
	weights, err := glyph.Trained()
	return &Reader{weights}, err
}

// Finding says what the reader found in a picture.
type Finding int

// The findings.
const (
	NothingFound Finding = iota // no line of OCR-B
	LinesFound                  // lines of OCR-B, but no zone that can be read
	ZoneRead                    // a zone; Result says whether it is valid
)

// Reading is the result of reading a picture.
type Reading struct {
	Finding Finding
	mrz.Result
	// Lines are the lines of the zone, for comparing the frames of one capture.
	// Like Result they describe a person and must not be kept or logged.
	Lines []string
	Sure  float64 // geometric mean of the characters' probabilities, 0 to 1
	Pitch float64 // distance of characters in pixels; 0 if nothing was found
	// Corners are the zone's corners in the picture, clockwise from the upper
	// left of its first character. Zero unless a zone was read.
	Corners [4]Point
	// Part is the visible part of a zone, valid or not; nil if too little of it is
	// seen.
	Part *Part
}

// Point is a place in a picture, in pixels.
type Point struct{ X, Y float64 }

// minSure is the minimum mean logarithm of the characters' probabilities. Below it, the
// zone counts as not read. Valid zones are far above it.
const minSure = -0.6

// minFirst is the minimum probability of the zone's first letter, as a logarithm. The
// letter decides which check digits must match. A visa has no composite check digit, so
// a card that is misread as a visa would pass too easily.
const minFirst = -0.7

// How many chains are tried in one picture, and how many of them are examined
// closely.
const (
	maxChains = 32
	maxLines  = 7
)

// Read looks for a zone in a picture without scaling it. The distance between
// characters must be from 9 to about 45 pixels. Two-digit years are completed relative
// to the day of now.
func (r *Reader) Read(img *image.Gray, now time.Time) Reading {
	s := &search{img: img, weights: r.weights, left: maxCells}
	best := Reading{}
	for _, radius := range []int{12, 24} {
		reading := s.read(radius, now)
		if reading.Better(best) {
			best = reading
		}
		if best.Valid {
			break
		}
	}
	return best
}

// Better reports whether a has found more than b, or the same more surely.
func (a Reading) Better(b Reading) bool {
	if a.Finding != b.Finding {
		return a.Finding > b.Finding
	}
	if a.Valid != b.Valid {
		return a.Valid
	}
	if seenA, seenB := a.Part.seen(), b.Part.seen(); !a.Valid && seenA != seenB {
		return seenA > seenB
	}
	return a.Sure > b.Sure
}

// read makes one attempt with the given radius of the threshold's
// neighbourhood.
func (s *search) read(radius int, now time.Time) (best Reading) {
	f := newField(findBlobs(s.img, radius))
	lines := s.lines(f)
	for _, base := range lines {
		if s.left < 400 {
			break
		}
		reading := s.zone(s.rows(base, lines, f), now)
		if reading.Better(best) {
			best = reading
		}
		if best.Valid {
			break
		}
	}
	return best
}

// lines returns the lines of OCR-B in a field, the likeliest first.
func (s *search) lines(f *field) (lines []*line) {
	likely := func(a, b *line) int { return cmp.Compare(b.score, a.score) }
	var candidates []*line
	for _, l := range f.chains(maxChains) {
		if seen := s.glance(l); seen != nil {
			candidates = append(candidates, seen)
		}
	}
	slices.SortStableFunc(candidates, likely)
	for _, l := range candidates[:min(len(candidates), maxLines)] {
		if refined := s.refine(l); refined != nil {
			lines = append(lines, refined)
		}
	}
	slices.SortStableFunc(lines, likely)
	return lines
}

// zone reads the lines of a zone.
func (s *search) zone(rows []row, now time.Time) Reading {
	upper := rows[0].line
	reading := Reading{Finding: LinesFound, Pitch: upper.pitch(float64(upper.low+upper.high) / 2)}
	if len(rows) < 2 {
		return reading
	}
	g, first := s.look(rows)
	a, ok := g.align(mrz.Formats)
	if !ok {
		return reading
	}
	_, letter := g.best(a.row, a.column, a.format.Allowed(0, 0))
	if letter < minFirst || !a.format.IsVisa() {
		reading.Part = g.part(rows, first)
	}
	if letter < minFirst {
		return reading
	}
	lines, mean := g.read(a)
	reading.Sure = math.Exp(mean)
	if mean < minSure {
		return reading
	}
	reading.Finding, reading.Lines = ZoneRead, lines
	reading.Result = mrz.Decode(a.format, lines, now)
	reading.Corners = a.corners(rows, first)
	return reading
}

// corners returns the corners of the aligned zone in the picture.
func (a alignment) corners(rows []row, first int) [4]Point {
	left, right := float64(first+a.column)-0.5, float64(first+a.column+a.format.Length())-0.5
	top, bottom := rows[a.row].line, rows[a.row+a.format.Lines()-1].line
	return [4]Point{corner(top, left, -0.5), corner(top, right, -0.5), corner(bottom, right, 0.5),
		corner(bottom, left, 0.5)}
}

func corner(l *line, n, down float64) Point {
	p := l.place(n, down)
	return Point{p.X, p.Y}
}
