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

// alike reports whether two blobs may be characters of one line: a filler is
// smaller than a letter, and a tilt rotates their boxes.
func alike(a, b float64) bool { return a < 2.1*b && b < 2.1*a }

// nearest returns the blob closest to a place that is like the given size, or
// -1.
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

// chains returns the lines of evenly spaced blobs, the longest first, at most the
// given number.
func (f *field) chains(limit int) []*line {
	used := make([]bool, len(f.blobs))
	var found []*line
	for i, b := range f.blobs {
		if used[i] {
			continue
		}
		var best []int
		var numbers []int
		f.near(b.x, b.y, 1.7*b.size, func(j int, d float64) {
			other := f.blobs[j]
			size := (b.size + other.size) / 2
			if j <= i || f.steps > maxSteps || d < 0.6*size || d > 1.7*size || !alike(b.size, other.size) {
				return
			}
			if chain, n := f.grow(i, j); len(chain) > len(best) {
				best, numbers = chain, n
			}
		})
		if len(best) < minChain {
			continue
		}
		links := make([]link, len(best))
		fresh := 0
		for k, at := range best {
			links[k] = link{numbers[k], f.blobs[at]}
			if !used[at] {
				fresh++
			}
		}
		l := newLine(links)
		if 2*fresh < len(best) || l == nil || !l.plausible() {
			continue // its blobs may still belong to another line
		}
		for _, at := range best {
			used[at] = true
		}
		f.extend(l, used)
		found = append(found, l)
	}
	slices.SortStableFunc(found, func(a, b *line) int { return len(b.links) - len(a.links) })
	return found[:min(len(found), limit)]
}

// grow follows the direction from one blob to another in both directions, over
// gaps of up to two characters, and numbers what it finds by the spacing.
func (f *field) grow(i, j int) (chain, numbers []int) {
	forward, fn := f.follow(i, j)
	backward, bn := f.follow(j, i)
	for k := len(backward) - 1; k >= 2; k-- { // its first two links are those of forward
		chain, numbers = append(chain, backward[k]), append(numbers, 1-bn[k])
	}
	return append(chain, forward...), append(numbers, fn...)
}

// follow collects blobs from i through j onwards.
func (f *field) follow(i, j int) (chain, numbers []int) {
	chain, numbers = []int{i, j}, []int{0, 1}
	size := (f.blobs[i].size + f.blobs[j].size) / 2
	for {
		// The step is the mean of the last few, and starts at the last blob.
		last := len(chain) - 1
		back := max(0, last-5)
		a, b := f.blobs[chain[back]], f.blobs[chain[last]]
		count := float64(numbers[last] - numbers[back])
		dx, dy := (b.x-a.x)/count, (b.y-a.y)/count
		pitch := math.Hypot(dx, dy)
		next := -1
		for gap := 1; gap <= 3 && next < 0; gap++ {
			g := float64(gap)
			next = f.nearest(b.x+g*dx, b.y+g*dy, (0.25+0.08*g)*pitch, size)
			if next >= 0 && next != chain[last] {
				chain, numbers = append(chain, next), append(numbers, numbers[last]+gap)
			}
		}
		if next < 0 || next == chain[last] && len(chain) == last+1 || len(chain) > 60 {
			return chain, numbers
		}
	}
}

// extend continues a line along its curve past both ends, and marks the blobs
// that it adds.
func (f *field) extend(l *line, used []bool) {
	const limit = 60
	for _, way := range []int{1, -1} {
		for more := true; more; more = f.bridge(l, way, used) {
			for missing := 0; missing < skipped && len(l.links) < limit; {
				n := l.end(way) + way*(1+missing)
				x, y := l.at(float64(n))
				i := f.nearest(x, y, 0.33*l.pitch(float64(n)), l.size)
				if i < 0 {
					missing++
					continue
				}
				used[i] = true
				l.add(link{n, f.blobs[i]})
				missing = 0
			}
		}
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

// bridge continues a line beyond a part of it that is hidden, if characters at the
// same distances follow. It reports whether it did.
func (f *field) bridge(l *line, way int, used []bool) bool {
	if len(l.links) < minChain || l.high-l.low > longest-minFar {
		return false
	}
	for gap := skipped; gap < widestGap; gap++ {
		n := l.end(way) + way*(1+gap)
		x, y := l.at(float64(n))
		pitch := l.pitch(float64(n))
		first := f.nearest(x, y, 0.6*pitch, l.size)
		if first < 0 || used[first] {
			continue
		}
		offX, offY := f.blobs[first].x-x, f.blobs[first].y-y
		var far []int
		for k := range minFar {
			x, y := l.at(float64(n + way*k))
			i := f.nearest(x+offX, y+offY, 0.3*pitch, l.size)
			if i < 0 || used[i] {
				break
			}
			far = append(far, i)
		}
		if len(far) == minFar && f.join(l, n, way, far) {
			for _, i := range far {
				used[i] = true
			}
			return true
		}
	}
	return false
}

// join adds blobs to a line, the first as character n. The curve may be wrong by
// more than half a character beyond a gap: of the numbers around n, those with
// which all fit one curve best are taken. It reports whether they fit.
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
