package liveness

import (
	"time"

	"agegate/internal/check/vision"
)

// way is the head's movement from where it was when the prompt appeared to the target
// of the prompt. Pictures of single poses that are shown one after another have no
// movement between them.
type way struct {
	from, last aim
	at         time.Time     // of last
	stride     float64       // the longest distance between two frames
	gap        time.Duration // the longest time between those two
	between    float64       // how far glimpse is from both ends and from level
	glimpse    *vision.Observation
	broken     bool // the camera changed the picture meanwhile, which may have hidden a part
	left       bool // the head has left the place where it was when the prompt appeared
	strayed    int  // frames in a row that show another direction
	missed     int  // frames that point next to the target
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

// with adds the next frame of a head on its way to the target. Because of the network,
// frames may arrive closer together than they were taken, by at most one round trip.
func (w way) with(f Frame, a, target aim) way {
	if stride := a.distance(w.last); stride > w.stride {
		w.stride, w.gap = stride, f.At.Sub(w.at)+f.Trip
	}
	w.last, w.at = a, f.At
	if a.length() > 1 { // at a target or beyond it the face resembles itself less
		return w
	}
	between := min(a.length(), a.distance(w.from), a.distance(target))
	if between > max(w.between, minBetween) {
		w.between, w.glimpse = between, f.Observation
	}
	return w
}

// strays reports whether the head clearly made another movement than to the target:
// consecutive frames point elsewhere, or next to the target and then back. A head that
// has not left its place since the prompt appeared does not stray.
func (w *way) strays(a, target aim) bool {
	off := a.angle(target)
	w.left = w.left || a.isNear() || a.angle(w.from) > gone
	switch {
	case a.isNear() || off > astray:
		if w.missed >= heldFrames {
			w.missed = 0
			return true
		}
	case w.left && a.length() >= clearly:
		w.missed++
	}
	if !w.left || a.length() < clearly || off <= astray {
		w.strayed = 0
		return false
	}
	w.strayed++
	return w.strayed == heldFrames // true once, until the head leaves that direction
}

// seen reports whether frames showed the movement itself, and not only its
// beginning and end.
func (w *way) seen() bool { return w.stride < longestStride*w.last.distance(w.from) }
