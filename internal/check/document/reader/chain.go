package reader

import (
	"math"
	"slices"
)

// minChain is the minimum number of blobs in a row that count as a possible line.
const minChain = 11

// maxSteps bounds the search for chains in one picture.
const maxSteps = 300_000

// link is a blob with its number in a chain.
type link struct {
	n int
	b blob
}

// field is an index of blobs by their position.
type field struct {
	blobs []blob
	cells map[[2]int][]int
	steps int
}

// fieldCell is the side of the index's squares, in pixels.
const fieldCell = 24

func newField(blobs []blob) *field {
	f := &field{blobs: blobs, cells: make(map[[2]int][]int)}
	for i, b := range blobs {
		key := [2]int{int(b.x) / fieldCell, int(b.y) / fieldCell}
		f.cells[key] = append(f.cells[key], i)
	}
	return f
}

// near calls visit with the index of every blob within reach of a place.
func (f *field) near(x, y, reach float64, visit func(i int, distance float64)) {
	left, right := int(math.Floor((x-reach)/fieldCell)), int(math.Floor((x+reach)/fieldCell))
	top, bottom := int(math.Floor((y-reach)/fieldCell)), int(math.Floor((y+reach)/fieldCell))
	for cy := top; cy <= bottom; cy++ {
		for cx := left; cx <= right; cx++ {
			for _, i := range f.cells[[2]int{cx, cy}] {
				if d := math.Hypot(f.blobs[i].x-x, f.blobs[i].y-y); d <= reach {
					visit(i, d)
				}
			}
		}
	}
}

// alike reports whether two blobs may be characters of one line. Their sizes may
// differ, because a filler is smaller than a letter and a tilt rotates the boxes.
func alike(a, b float64) bool { return a < 2.1*b && b < 2.1*a }

// nearest returns, of the blobs that are like the given size, the one closest to a
// place, or -1.
func (f *field) nearest(x, y, reach, size float64) int {
	f.steps++
	best, distance := -1, math.Inf(1)
	f.near(x, y, reach, func(i int, d float64) {
		if d < distance && alike(f.blobs[i].size, size) {
			best, distance = i, d
		}
	})
	return best
}

// chain is a row of evenly spaced blobs.
type chain []member

// member is a blob of a chain.
type member struct {
	i int // its index in the field
	n int // its number in the chain, which counts missing blobs too
}

// maxChain is the maximum number of blobs in a chain: no line has as many.
const maxChain = 60

// chains returns lines of evenly spaced blobs, at most the given number, the longest
// first.
func (f *field) chains(limit int) []*line {
	used := make([]bool, len(f.blobs))
	var found []*line
	for i := range f.blobs {
		if used[i] {
			continue
		}
		c := f.longestFrom(i)
		if len(c) < minChain || 2*c.unused(used) < len(c) {
			continue
		}
		l := newLine(f.links(c))
		if l == nil || !l.plausible() {
			continue // its blobs may still belong to another line
		}
		for _, m := range c {
			used[m.i] = true
		}
		f.extend(l, used)
		found = append(found, l)
	}
	slices.SortStableFunc(found, func(a, b *line) int { return len(b.links) - len(a.links) })
	return found[:min(len(found), limit)]
}

// longestFrom returns the longest chain that goes through a blob and one of its
// neighbours. It tries only neighbours with a higher index.
func (f *field) longestFrom(i int) (best chain) {
	const nearest, farthest = 0.6, 1.7 // distance of neighbours, in sizes
	b := f.blobs[i]
	f.near(b.x, b.y, farthest*b.size, func(j int, distance float64) {
		other := f.blobs[j]
		size := (b.size + other.size) / 2
		if j <= i || f.steps > maxSteps || distance < nearest*size || distance > farthest*size ||
			!alike(b.size, other.size) {
			return
		}
		if c := f.grow(i, j); len(c) > len(best) {
			best = c
		}
	})
	return best
}

// grow follows the line through two blobs in both directions.
func (f *field) grow(i, j int) (c chain) {
	forward, backward := f.follow(i, j), f.follow(j, i)
	slices.Reverse(backward)
	for _, m := range backward[:len(backward)-2] { // the last two are the first two of forward
		c = append(c, member{m.i, 1 - m.n})
	}
	return append(c, forward...)
}

// follow collects blobs from i through j onwards.
func (f *field) follow(i, j int) chain {
	c := chain{{i, 0}, {j, 1}}
	size := (f.blobs[i].size + f.blobs[j].size) / 2
	for len(c) <= maxChain {
		next, ok := f.next(c, size)
		if !ok {
			break
		}
		c = append(c, next)
	}
	return c
}

// next returns the blob that continues a chain, over a gap of up to two characters. It
// expects the blob at the mean distance of the last few.
func (f *field) next(c chain, size float64) (next member, ok bool) {
	const few, widest = 5, 3
	last := c[len(c)-1]
	first := c[max(0, len(c)-1-few)]
	from, to := f.blobs[first.i], f.blobs[last.i]
	count := float64(last.n - first.n)
	dx, dy := (to.x-from.x)/count, (to.y-from.y)/count
	pitch := math.Hypot(dx, dy)
	for step := 1; step <= widest; step++ {
		s := float64(step)
		if i := f.nearest(to.x+s*dx, to.y+s*dy, (0.25+0.08*s)*pitch, size); i >= 0 {
			return member{i, last.n + step}, i != last.i
		}
	}
	return next, false
}

// unused counts the blobs of a chain that belong to no line yet.
func (c chain) unused(used []bool) (count int) {
	for _, m := range c {
		if !used[m.i] {
			count++
		}
	}
	return count
}

// links returns the blobs of a chain with their numbers.
func (f *field) links(c chain) []link {
	links := make([]link, len(c))
	for k, m := range c {
		links[k] = link{m.n, f.blobs[m.i]}
	}
	return links
}

// extend continues a line along its curve past both ends, also beyond hidden parts. It
// marks the blobs that it adds.
func (f *field) extend(l *line, used []bool) {
	for _, way := range []int{1, -1} {
		f.along(l, way, used)
		for f.bridge(l, way, used) {
			f.along(l, way, used)
		}
	}
}

// along continues a line in one direction, until too many characters in a row are
// missing.
func (f *field) along(l *line, way int, used []bool) {
	for missing := 0; missing < skipped && len(l.links) < maxChain; {
		n := l.end(way) + way*(1+missing)
		x, y := l.at(float64(n))
		i := f.nearest(x, y, 0.33*l.pitch(float64(n)), l.size)
		if i < 0 {
			missing++
			continue
		}
		missing = 0
		used[i] = true
		l.links = append(l.links, link{n, f.blobs[i]})
		l.fit()
	}
}

// end returns the number of the line's last link in a direction.
func (l *line) end(way int) int {
	if way > 0 {
		return l.high
	}
	return l.low
}

// Limits of a gap in a line, in characters.
const (
	skipped   = 5    // that extend passes over, one by one
	widestGap = 14   // such as a finger leaves
	minFar    = 5    // that must follow a gap
	maxOff    = 0.12 // mean distance from the curve afterwards, in pitches
)

// bridge continues a line beyond a hidden part, if characters at the same distances
// follow. It reports whether it did.
func (f *field) bridge(l *line, way int, used []bool) bool {
	if len(l.links) < minChain || l.high-l.low > longest-minFar {
		return false
	}
	for gap := skipped; gap < widestGap; gap++ {
		n := l.end(way) + way*(1+gap)
		far := f.beyond(l, n, way, used)
		if len(far) == minFar && f.join(l, n, way, far) {
			for _, i := range far {
				used[i] = true
			}
			return true
		}
	}
	return false
}

// beyond returns the blobs that continue a line after character n, at most minFar.
// They may lie off the line's curve.
func (f *field) beyond(l *line, n, way int, used []bool) (far []int) {
	x, y := l.at(float64(n))
	pitch := l.pitch(float64(n))
	first := f.nearest(x, y, 0.6*pitch, l.size)
	if first < 0 || used[first] {
		return nil
	}
	offX, offY := f.blobs[first].x-x, f.blobs[first].y-y
	for k := range minFar {
		x, y := l.at(float64(n + way*k))
		i := f.nearest(x+offX, y+offY, 0.3*pitch, l.size)
		if i < 0 || used[i] {
			break
		}
		far = append(far, i)
	}
	return far
}

// join adds blobs to a line. The first blob becomes character n or one near it: beyond
// a gap, the curve may be wrong by more than half a character, so join takes the number
// with which all blobs fit one curve best. It reports whether they fit.
func (f *field) join(l *line, n, way int, far []int) bool {
	best := maxOff
	var joined *line
	for shift := -1; shift <= 1; shift++ {
		try := *l
		try.links = slices.Clone(l.links)
		for k, i := range far {
			try.links = append(try.links, link{n + way*k + shift, f.blobs[i]})
		}
		if !try.fit() {
			continue
		}
		if off := try.off(); off < best {
			best, joined = off, &try
		}
	}
	if joined == nil {
		return false
	}
	*l = *joined
	return true
}

// off returns the mean distance of the links from the curve, in pitches.
func (l *line) off() (mean float64) {
	for _, k := range l.links {
		x, y := l.at(float64(k.n))
		mean += math.Hypot(k.b.x-x, k.b.y-y) / l.pitch(float64(k.n)) / float64(len(l.links))
	}
	return mean
}
