package capture

import (
	"maps"
	"slices"

	"agegate/internal/check/document/mrz"
)

// agreeing is the number of different frames that must show the same zone.
const agreeing = 3

// Limits for frames that disagree. A single misread frame is allowed, even one whose check digits match.
const (
	maxZones      = 3  // different zones in a capture
	maxDissenting = 1  // frames of any but the most frequent zone
	maxStateless  = 10 // frames of a zone after which its issuing state must have been read
)

// zone is what some frames have read, and how many frames have shown it. It is
// identified by the characters that a check digit covers.
type zone struct {
	format  mrz.Format
	checked string
	frames  int
	states  map[string]int // frames by issuing state, which no check digit covers
	result  mrz.Result     // of the latest frame
}

// zones counts the frames of each zone that was read.
type zones []*zone

// add counts a frame with a valid zone and returns the zone.
func (z *zones) add(r mrz.Result, lines []string) *zone {
	one := z.of(r, lines)
	one.frames++
	one.states[r.IssuingState]++
	return one
}

// join records a valid zone that was put together from frames, each of which showed a part of it. It returns the zone.
// Enough frames agree on each part, so the zone counts as shown by that many frames.
func (z *zones) join(r mrz.Result, lines []string) *zone {
	one := z.of(r, lines)
	one.frames = max(one.frames, agreeing)
	one.states[r.IssuingState] = max(one.states[r.IssuingState], agreeing)
	return one
}

// of returns the zone with these lines, of which the latest frame has read r.
func (z *zones) of(r mrz.Result, lines []string) *zone {
	checked := r.Format.Checked(lines)
	for _, known := range *z {
		if known.format == r.Format && known.checked == checked {
			known.result = r
			return known
		}
	}
	fresh := &zone{format: r.Format, checked: checked, states: map[string]int{}, result: r}
	*z = append(*z, fresh)
	return fresh
}

// leading returns the zone with the most frames; of equal ones, the first.
func (z zones) leading() (best *zone) {
	for _, one := range z {
		if best == nil || one.frames > best.frames {
			best = one
		}
	}
	return best
}

// disagree reports whether the frames cannot show one document.
func (z zones) disagree() bool {
	leading := z.leading()
	return len(z) > maxZones ||
		slices.ContainsFunc(z, func(one *zone) bool { return one != leading && one.frames > maxDissenting })
}

// state returns the issuing state that most frames show, if enough do.
func (z *zone) state() (code string, ok bool) {
	best := agreeing - 1
	for _, one := range slices.Sorted(maps.Keys(z.states)) {
		if one != "" && z.states[one] > best {
			code, best = one, z.states[one]
		}
	}
	return code, code != ""
}
