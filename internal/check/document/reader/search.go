package reader

import (
	"cmp"
	"image"
	"math"
	"math/bits"
	"slices"

	"agegate/internal/check/document/glyph"
	"agegate/internal/check/document/mrz"
)

// maxCells bounds how often the network looks at one picture.
const maxCells = 2400

// search is the state of reading one picture.
type search struct {
	img     *image.Gray
	weights *glyph.Weights
	left    int // cells that may still be classified
	cell    glyph.Cell
	seen    glyph.Activations
}

// classify returns the logarithms of the classes' probabilities at a place.
func (s *search) classify(p glyph.Place) *[glyph.Classes]float32 {
	s.left--
	glyph.Sample(s.img, p, &s.cell)
	s.weights.Run(&s.cell, &s.seen)
	return &s.seen.Logs
}

// likeness returns the mean logarithm of the best character's probability, over
// some characters of a line.
func (s *search) likeness(l *line, numbers []int) float64 {
	score, _ := s.likeliest(l, numbers)
	return score
}

// likeliest returns the likeness together with the best characters.
func (s *search) likeliest(l *line, numbers []int) (score float64, chars mrz.Set) {
	for _, n := range numbers {
		logs := s.classify(l.place(float64(n), 0))
		best := 0
		for c := range glyph.Junk {
			if logs[c] > logs[best] {
				best = c
			}
		}
		chars |= 1 << best
		score += max(float64(logs[best]), worst)
	}
	return score / float64(len(numbers)), chars
}

// The likeness from which a line counts as OCR-B, and the lower likeness from which the
// line is examined closely.
const (
	isLine    = -0.9
	mayBeLine = -3
)

// some returns the numbers of some of the line's links, spread over the line.
func (l *line) some(count int) []int {
	var numbers []int
	for _, k := range l.links {
		numbers = append(numbers, k.n)
	}
	slices.Sort(numbers)
	if len(numbers) <= count {
		return numbers
	}
	spread := make([]int, count)
	for i := range spread {
		spread[i] = numbers[i*(len(numbers)-1)/(count-1)]
	}
	return spread
}

// longest is the maximum length of a chain: the characters of a line and a few
// blots.
const longest = 52

// glance finds the direction of a line and the approximate height of its
// characters. It returns nil if they are not OCR-B.
func (s *search) glance(l *line) *line {
	if l.high-l.low >= longest {
		return nil
	}
	numbers := l.some(6)
	best, chars := *l, mrz.Set(0)
	best.tall = 0.96
	best.score, chars = s.likeliest(&best, numbers)
	try := func(t *line, numbers []int) {
		if score, read := s.likeliest(t, numbers); score > best.score {
			best, chars = *t, read
			best.score = score
		}
	}
	turned := l.turned()
	turned.tall = best.tall
	try(turned, turned.some(6))
	for _, tall := range []float64{0.78, 1.12} {
		other := best
		other.tall = tall
		try(&other, other.some(6))
	}
	// One or two characters in all places are a pattern's. In a zone, only fillers repeat in this way.
	uniform := bits.OnesCount64(uint64(chars)) <= 2 && !chars.Has(mrz.Filler)
	if best.score < mayBeLine || uniform {
		return nil
	}
	return &best
}

// refine finds the exact shape of a line's characters. It returns nil if they are not
// OCR-B.
func (s *search) refine(best *line) *line {
	numbers := best.some(9)
	best.score = s.likeness(best, numbers)
	for _, step := range []float64{1, 0.5} {
		s.improve(best, numbers, &best.shift, 0.12*step)
		s.improve(best, numbers, &best.tall, 0.1*step)
		s.improve(best, numbers, &best.slant, 0.12*step)
	}
	if best.score < isLine {
		return nil
	}
	return best
}

// improve changes one parameter of the line's shape by a step, if the line is more
// likely with it.
func (s *search) improve(l *line, numbers []int, value *float64, step float64) {
	old, score := *value, l.score
	kept := old
	for _, sign := range []float64{-1, 1} {
		*value = old + sign*step
		if likely := s.likeness(l, numbers); likely > score {
			kept, score = *value, likely
		}
	}
	*value, l.score = kept, score
}

// row is a line of a zone with its distance below the line where the search
// began, in pitches.
type row struct {
	depth float64
	line  *line
}

// maxRows is the maximum number of lines of a zone.
const maxRows = 3

// rows returns the lines of the zone to which the line belongs, from the top. They are
// other lines parallel to it, and lines between or beside them that the search adds.
func (s *search) rows(base *line, others []*line, f *field) []row {
	rows := []row{{0, base}}
	for _, o := range others {
		if depth, beside, ok := base.beside(o); ok {
			rows, _ = insert(rows, row{depth, beside})
		}
	}
	// Look for a missing line between two that are twice as far apart.
	for i := 0; i+1 < len(rows) && len(rows) < maxRows; i++ {
		if gap := rows[i+1].depth - rows[i].depth; gap >= 2*closest {
			if l, depth := s.neighbour(rows[i].line, 1, 0.46*gap, 0.54*gap, f); l != nil {
				rows, _ = insert(rows, row{rows[i].depth + depth, l})
			}
		}
	}
	for added := true; added && len(rows) < maxRows; {
		rows, added = s.addRow(rows, f)
	}
	return rows
}

// Distances between the lines of a zone, in pitches.
const (
	closest  = 1.45
	farthest = 2.9
)

// addRow looks for a line above the first one and below the last one. The line must be
// at the distance that two lines of a zone have.
func (s *search) addRow(rows []row, f *field) (_ []row, added bool) {
	from, to := closest, farthest
	if len(rows) > 1 {
		spacing := rows[1].depth - rows[0].depth
		if spacing > 1.1*farthest {
			return rows, false
		}
		from, to = 0.92*spacing, 1.08*spacing
	}
	above, below := rows[0], rows[len(rows)-1]
	if l, depth := s.neighbour(above.line, -1, from, to, f); l != nil {
		rows, added = insert(rows, row{above.depth + depth, l})
	}
	if l, depth := s.neighbour(below.line, 1, from, to, f); l != nil {
		var also bool
		rows, also = insert(rows, row{below.depth + depth, l})
		added = added || also
	}
	return rows, added
}

// insert adds a row at its depth, unless a row is already there.
func insert(rows []row, r row) (_ []row, added bool) {
	if slices.ContainsFunc(rows, func(other row) bool { return math.Abs(other.depth-r.depth) < 1.1 }) {
		return rows, false
	}
	at, _ := slices.BinarySearchFunc(rows, r.depth, func(a row, depth float64) int { return cmp.Compare(a.depth, depth) })
	return slices.Insert(rows, at, r), true
}

// beside reports whether another line runs parallel to this one at the distance of a
// zone's lines. It returns how far below the other line is, and that line with this
// one's numbers of columns.
func (l *line) beside(o *line) (depth float64, beside *line, ok bool) {
	if o == l {
		return 0, nil, false
	}
	middle := float64(o.low+o.high) / 2
	x, y := o.at(middle)
	n := float64(l.low+l.high) / 2
	var cross float64
	for range 3 {
		lx, ly := l.at(n)
		ax, ay := l.x.slope(n), l.y.slope(n)
		square := ax*ax + ay*ay
		n += ((x-lx)*ax + (y-ly)*ay) / square
		cross = ((y-ly)*ax - (x-lx)*ay) / square
	}
	ax, ay := l.x.slope(n), l.y.slope(n)
	bx, by := o.x.slope(middle), o.y.slope(middle)
	cosine := (ax*bx + ay*by) / (math.Hypot(ax, ay) * math.Hypot(bx, by))
	ratio := math.Hypot(bx, by) / math.Hypot(ax, ay)
	if cosine < 0.96 || ratio < 0.85 || ratio > 1.18 || math.Abs(cross) < 1.2 || math.Abs(cross) > 2*farthest ||
		n < float64(l.low)-20 || n > float64(l.high)+20 {
		return 0, nil, false
	}
	return cross, o.renumbered(int(math.Round(n - middle + l.slant*cross))), true
}

// renumbered adds to the number of every character.
func (l *line) renumbered(by int) *line {
	r := *l
	r.x, r.y = l.x.moved(float64(-by)), l.y.moved(float64(-by))
	r.low, r.high = l.low+by, l.high+by
	r.links = make([]link, len(l.links))
	for i, k := range l.links {
		r.links[i] = link{k.n + by, k.b}
	}
	return &r
}

// neighbour looks for a line above (way -1) or below (way 1) another one, within a
// range of distances in pitches. It returns the line and how far below the other it is.
func (s *search) neighbour(l *line, way, from, to float64, f *field) (found *line, depth float64) {
	numbers := l.some(6)
	for d := from; d <= to+1e-9; d += max(0.11, (to-from)/3) {
		if s.left < 400 {
			return nil, 0
		}
		try := l.below(way * d)
		try.low, try.high = l.low, l.high
		try.score = s.likeness(try, numbers)
		if found == nil || try.score > found.score {
			found, depth = try, way*d
		}
	}
	if found == nil || found.score < mayBeLine {
		return nil, 0
	}
	f.snap(found)
	found.score = s.likeness(found, numbers)
	for _, step := range []float64{1, 0.5} {
		s.improve(found, numbers, &found.shift, 0.12*step)
	}
	if found.score < isLine {
		return nil, 0
	}
	return found, depth
}

// snap fits an added line to the blobs on it, if there are enough.
func (f *field) snap(l *line) {
	var links []link
	for n := l.low; n <= l.high; n++ {
		x, y := l.at(float64(n))
		if i := f.nearest(x, y, 0.33*l.pitch(float64(n)), l.size); i >= 0 {
			links = append(links, link{n, f.blobs[i]})
		}
	}
	if len(links) < minChain {
		return
	}
	fitted := *l
	fitted.links = links
	if fitted.fit() {
		fitted.shift = 0
		*l = fitted
	}
}
