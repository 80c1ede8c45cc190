package liveness

import (
	"time"

	"agegate/internal/check/vision"
)

// path is the head's movement from its place when the prompt appeared to the
// target of the prompt. Pictures of single poses shown one after another have no
// movement between them.
type path struct {
	from, last aim
	at         time.Time     // of last
	stride     float64       // the longest distance between two frames
	gap        time.Duration // the longest time between those two
	between    float64       // how far glimpse is from both ends and from level
	glimpse    *vision.Observation
	broken     bool // the camera changed the picture meanwhile, which may have hidden a part
}

// closeGap is the longest time between two frames in which no head can make its
// whole movement unseen.
const closeGap = 300 * time.Millisecond

// minBetween is how far a head must be from level and from both ends of its way
// for the frame to show it moving, in units of aim.
const minBetween = 0.2

// longestStride is the largest share of its way that a moving head covers between
// two frames: the fastest turns take a third of a second, and frames 0.2 seconds
// apart show three quarters of such a turn at once.
const longestStride = 0.78

func newPath(from aim, now time.Time) path { return path{from: from, last: from, at: now} }

// with adds the next frame of a head that should go to the target. The network
// can bring frames closer together than they were taken, by one round trip at
// most.
func (p path) with(f frame, target aim) path {
	if stride := f.aim.distance(p.last); stride > p.stride {
		p.stride, p.gap = stride, f.at.Sub(p.at)+f.trip
	}
	p.last, p.at = f.aim, f.at
	if f.aim.length() > 1 { // at a target or beyond it the face resembles itself less
		return p
	}
	between := min(f.aim.length(), f.aim.distance(p.from), f.aim.distance(target))
	if between > max(p.between, minBetween) {
		p.between, p.glimpse = between, f.o
	}
	return p
}

// resumed goes on from where the head is in a picture that the camera has
// changed.
func (p path) resumed(a aim, now time.Time) path {
	p.last = a
	p.at = now
	p.broken = true
	return p
}

// seen reports whether frames showed the movement itself, and not only its
// beginning and end.
func (p *path) seen() bool { return p.stride < longestStride*p.last.distance(p.from) }
