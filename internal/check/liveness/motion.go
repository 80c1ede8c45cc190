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
	moveNoise    = 0.2   // face widths; a knock against the camera moves everything by as much
	maxScaleRate = 1.5   // change of the logarithm of the face's width per second
	scaleNoise   = 0.2   // the same logarithm; another lens may enlarge by 1.3 at once, which is 0.26
	// minGap is the shortest time between two frames that the page takes. The network
	// can let two frames arrive closer together than that.
	minGap = 150 * time.Millisecond
	// longestGap is the longest silence after which motion is still judged.
	longestGap = time.Second
)

// Track follows the face from frame to frame.
type Track struct {
	last *vision.Observation
	at   time.Time
}

// Motion is the movement between a frame with a face and the frame before.
type Motion int

// The kinds of motion.
const (
	Plausible Motion = iota
	Reframed         // the picture's format has changed, as when somebody turns the phone
	Jumped           // the face moved further than a head or a camera can
)

// NewTrack starts at a frame with a face.
func NewTrack(o *vision.Observation, now time.Time) Track { return Track{last: o, at: now} }

// Last is the frame before.
func (t *Track) Last() *vision.Observation { return t.last }

// Move takes the next frame with a face. A frame of another format needs a new track,
// because positions in it cannot be compared with earlier positions.
func (t *Track) Move(o *vision.Observation, now time.Time) Motion {
	last, gap := t.last, max(now.Sub(t.at), minGap)
	if !o.HasFormatOf(last) {
		return Reframed
	}
	t.last, t.at = o, now
	if gap <= longestGap && jumps(last, o, gap.Seconds()) {
		return Jumped
	}
	return Plausible
}

// jumps reports whether a face moved further within some seconds than a head can.
func jumps(from, to *vision.Observation, seconds float64) bool {
	turn := math.Max(math.Abs(to.Pose.Yaw-from.Pose.Yaw), math.Abs(to.Pose.Pitch-from.Pose.Pitch))
	fromX, fromY, fromWidth := from.Place()
	x, y, width := to.Place()
	move := math.Hypot(x-fromX, y-fromY) / fromWidth
	scale := math.Abs(math.Log(width / fromWidth))
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
