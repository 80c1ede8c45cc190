package reader

import (
	"math"

	"agegate/internal/check/document/mrz"
)

// Unseen stands in a Part's lines for a character that cannot be read.
const Unseen = '?'

// Hidden says what hides some of the characters of a zone.
type Hidden int

// What may hide a part of a zone; of two, the later one is reported.
const (
	NotHidden Hidden = iota // or not known
	ByCover                 // something that lies on the zone, such as a finger
	ByEdge                  // the edge of the picture
	ByLight                 // a reflection that saturates the camera
)

// Part is what a picture shows of a zone that it does not show whole.
type Part struct {
	Format mrz.Format
	// Lines have the format's number and length. They describe a person and must
	// not be kept or logged.
	Lines  []string
	Hidden Hidden

	seen int // characters that were read
}

// Limits of a part.
const (
	leastSeen   = -0.105 // logarithm of the probability from which a character counts as read: 0.9
	leastShare  = 0.5    // of the zone's characters that must be read
	leastHidden = 3      // characters next to each other that something hides
	saturated   = 250    // luma
)

// part returns what is read of a zone under an alignment, or nil if that is too
// little.
func (s *search) part(g grid, a alignment, rows []row, first int) *Part {
	p := &Part{Format: a.format}
	for l := range a.format.Lines() {
		text := make([]byte, a.format.Length())
		gap := 0 // unread characters next to each other, until now
		for i := range text {
			char, log := g.best(a.row+l, a.column+i, a.format.Allowed(l, i))
			if log >= leastSeen {
				text[i], gap = mrz.Alphabet[char], 0
				p.seen++
				continue
			}
			text[i] = Unseen
			if gap++; gap >= leastHidden {
				p.Hidden = max(p.Hidden, s.hides(rows[a.row+l].line, float64(first+a.column+i-gap+1), gap))
			}
		}
		p.Lines = append(p.Lines, string(text))
	}
	if float64(p.seen) < leastShare*float64(a.format.Lines()*a.format.Length()) {
		return nil
	}
	return p
}

// hides returns what hides some characters of a line, by the light there.
func (s *search) hides(l *line, from float64, count int) Hidden {
	outside, bright, all := 0, 0, 0
	for i := range count {
		for _, down := range []float64{-0.3, 0, 0.3} {
			for _, along := range []float64{-0.3, 0, 0.3} {
				at := l.place(from+float64(i)+along, down)
				x, y := int(math.Floor(at.X)), int(math.Floor(at.Y))
				all++
				switch {
				case x < 0 || y < 0 || x >= s.img.Rect.Dx() || y >= s.img.Rect.Dy():
					outside++
				case s.img.Pix[y*s.img.Stride+x] >= saturated:
					bright++
				}
			}
		}
	}
	switch {
	case 2*outside > all:
		return ByEdge
	case 3*bright > all:
		return ByLight
	}
	return ByCover
}
