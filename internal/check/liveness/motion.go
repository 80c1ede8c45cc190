package liveness

import (
	"crypto/sha256"
	"math"
	"time"

	"agegate/internal/check/vision"
)

// Limits of motion between two frames that follow each other. A brisk turn from
// level peaks at some 150 degrees a second, and one from side to side at 220; the
// measured pose has a few degrees of noise.
const (
	maxTurnRate  = 250.0 // degrees a second
	poseNoise    = 8.0   // degrees
	maxMoveRate  = 3.0   // face widths a second
	moveNoise    = 0.1   // face widths
	maxScaleRate = 1.5   // change of the logarithm of the face's width per second
	scaleNoise   = 0.12
	// minGap is the shortest time at which the page takes frames. The network
	// can make two frames arrive closer together, but they were not taken closer
	// together.
	minGap = 150 * time.Millisecond
	// longestGap is the longest silence after which motion is still judged.
	longestGap = time.Second
)

// Track follows the face from frame to frame.
type Track struct {
	last *vision.Observation
	at   time.Time
}

// NewTrack starts at a frame with a face.
func NewTrack(o *vision.Observation, now time.Time) Track { return Track{last: o, at: now} }

// Jumps takes the next frame with a face and reports whether the face moved
// further since the last frame than a head can.
func (t *Track) Jumps(o *vision.Observation, now time.Time) bool {
	last, gap := t.last, max(now.Sub(t.at), minGap)
	t.last, t.at = o, now
	if last == nil || gap > longestGap {
		return false
	}
	seconds := gap.Seconds()
	turn := math.Max(math.Abs(o.Pose.Yaw-last.Pose.Yaw), math.Abs(o.Pose.Pitch-last.Pose.Pitch))
	x, y, width := o.Place()
	lastX, lastY, lastWidth := last.Place()
	move := math.Hypot(x-lastX, y-lastY) / lastWidth
	scale := math.Abs(math.Log(width / lastWidth))
	return turn > poseNoise+maxTurnRate*seconds ||
		move > moveNoise+maxMoveRate*seconds ||
		scale > scaleNoise+maxScaleRate*seconds
}

// minChange is the smallest difference between two frames of a real camera at the
// points of vision.Grain: a root mean square in levels of luma. Sensor noise and
// the smallest movement give more.
const minChange = 0.35

// Memory recognizes frames that the capture has already seen.
type Memory struct {
	hashes map[[sha256.Size]byte]int
	grains []*vision.Grain
}

// Novelty is whether a frame is new.
type Novelty int

// The kinds of novelty.
const (
	Fresh    Novelty = iota
	Stalled          // the same as the frame before, because the camera is slower than the page
	Repeated         // the same as an earlier frame, which no camera delivers
)

// Add takes the next frame with a face. Frames with equal bytes are the same, and
// so are frames with nearly equal pictures.
func (m *Memory) Add(jpeg []byte, o *vision.Observation) Novelty {
	if m.hashes == nil {
		m.hashes = map[[sha256.Size]byte]int{}
	}
	index := len(m.grains)
	hash := sha256.Sum256(jpeg)
	before, known := m.hashes[hash]
	for i := index - 1; i >= 0 && !known; i-- {
		known, before = o.Grain.Change(m.grains[i]) < minChange, i
	}
	if known && before == index-1 {
		return Stalled
	}
	if known {
		return Repeated
	}
	m.hashes[hash] = index
	m.grains = append(m.grains, o.Grain)
	return Fresh
}
