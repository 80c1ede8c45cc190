package capture

import (
	"agegate/internal/check/document/mrz"
	"agegate/internal/check/document/reader"
)

// agreeing is the number of different frames that must show the same zone.
const agreeing = 3

// Limits for frames that disagree. A single misread frame is forgiven even if
// its check digits match.
const (
	mostZones      = 3  // different zones in a capture
	mostDissenting = 1  // frames of any but the most frequent zone
	mostStateless  = 10 // frames of a zone after which its issuing state must have been read
)

// zone is a reading on which some frames agree: every character that a check
// digit covers.
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
func (z *zones) add(r reader.Reading) *zone {
	checked := r.Format.Checked(r.Lines)
	for _, known := range *z {
		if known.format == r.Format && known.checked == checked {
			known.count(r.Result)
			return known
		}
	}
	fresh := &zone{format: r.Format, checked: checked, states: map[string]int{}}
	fresh.count(r.Result)
	*z = append(*z, fresh)
	return fresh
}

func (z *zone) count(r mrz.Result) {
	z.frames++
	z.states[r.IssuingState]++
	z.result = r
}

// leading returns the zone with the most frames; of equal ones, the first.
func (z zones) leading() (most *zone) {
	for _, one := range z {
		if most == nil || one.frames > most.frames {
			most = one
		}
	}
	return most
}

// disagree reports whether the frames cannot show one document.
func (z zones) disagree() bool {
	leading := z.leading()
	for _, one := range z {
		if one != leading && one.frames > mostDissenting {
			return true
		}
	}
	return len(z) > mostZones
}

// state returns the issuing state on which enough frames agree.
func (z *zone) state() (code string, ok bool) {
	for code, frames := range z.states {
		if code != "" && frames >= agreeing {
			return code, true
		}
	}
	return "", false
}
