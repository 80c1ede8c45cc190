package liveness

import (
	"time"

	"agegate/internal/check/vision"
)

// path is the head's movement from where it was when the prompt appeared to the target
// of the prompt. Pictures of single poses that are shown one after another have no
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

// closeGap is the longest time between two frames that is too short for a whole
// movement of the head.
const closeGap = 300 * time.Millisecond

// minBetween is how far the head must be from level and from both ends of its way, in
// units of aim. Only then does a frame show it moving.
const minBetween = 0.2

// longestStride is the largest share of its way that a moving head covers between two
// frames. The fastest turns take a third of a second, so frames 0.2 seconds apart show
// three quarters of such a turn at once.
const longestStride = 0.78

func newPath(from aim, now time.Time) path { return path{from: from, last: from, at: now} }

// with adds the next frame of a head on its way to the target. Because of the network,
// frames may arrive closer together than they were taken, by at most one round trip.
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

// resumed continues from where the head is in a picture that the camera has changed.
func (p path) resumed(a aim, now time.Time) path {
	p.last = a
	p.at = now
	p.broken = true
	return p
}

// seen reports whether frames showed the movement itself, and not only its
// beginning and end.
func (p *path) seen() bool { return p.stride < longestStride*p.last.distance(p.from) }
