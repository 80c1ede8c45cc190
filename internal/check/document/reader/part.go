package reader

import (
	"strings"

	"agegate/internal/check/document/mrz"
)

// Part is a zone with characters that cannot be seen, because light, a finger or the
// edge of the picture hides them. Like Result it describes a person and must not be
// kept or logged.
type Part struct {
	Format  mrz.Format
	Lines   []string // with Unseen in the places of characters that are not clear
	Corners [4]Point // of the whole zone, as in Reading; they may lie outside the picture
	Hidden  []Point  // the middles of characters next to each other that are not clear
}

// Unseen stands for a character that cannot be seen.
const Unseen = '?'

// Limits of a part.
const (
	minSeen = -0.2 // probability of a character that counts as seen, as a logarithm
	minPart = 0.6  // share of the characters that must be seen
	minGap  = 3    // characters next to each other that something hides; fewer may be badly printed
)

// accepted are the formats whose parts are read. Visas are not among them, because no
// check digit of theirs covers several fields.
var accepted = []mrz.Format{mrz.TD1, mrz.TD2, mrz.TD3}

// part returns the visible part of a zone, or nil if it is too small or the zone is a
// visa's.
func (g grid) part(rows []row, first int) *Part {
	a, ok := g.lenient().align(accepted)
	if !ok {
		return nil
	}
	p := &Part{Format: a.format, Corners: a.corners(rows, first)}
	for l := range a.format.Lines() {
		var text []byte
		var gap []Point
		for i := range a.format.Length() {
			char, log := g.best(a.row+l, a.column+i, a.format.Allowed(l, i))
			if log >= minSeen {
				text, gap = append(text, mrz.Alphabet[char]), nil
				continue
			}
			text = append(text, Unseen)
			gap = append(gap, corner(rows[a.row+l].line, float64(first+a.column+i), 0))
			switch {
			case len(gap) == minGap:
				p.Hidden = append(p.Hidden, gap...)
			case len(gap) > minGap:
				p.Hidden = append(p.Hidden, gap[len(gap)-1])
			}
		}
		p.Lines = append(p.Lines, string(text))
	}
	if float64(p.seen()) < minPart*float64(a.format.Lines()*a.format.Length()) {
		return nil
	}
	return p
}

// seen returns the number of characters that are seen; 0 for nil.
func (p *Part) seen() (n int) {
	if p == nil {
		return 0
	}
	for _, line := range p.Lines {
		n += len(line) - strings.Count(line, string(Unseen))
	}
	return n
}
