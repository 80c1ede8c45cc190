package age

import (
	"crypto/sha256"
	"math"
	"time"
)

// Limits of motion between two frames that follow each other. A brisk turn
// peaks at some 150 degrees a second; the pose is read with a few degrees of
// noise.
const (
	maxTurnRate  = 200.0 // degrees a second
	poseNoise    = 8.0   // degrees
	maxMoveRate  = 3.0   // face widths a second
	moveNoise    = 0.1   // face widths
	maxScaleRate = 1.5   // logarithm of the face's width, a second
	scaleNoise   = 0.12
	// leastGap is the page's least time between frames: the network can bring
	// two closer together, but not what they show.
	leastGap = 125 * time.Millisecond
	// longestGap is the longest silence after which motion is still judged.
	longestGap = time.Second
)

// track follows the face from frame to frame.
type track struct {
	last *Observation
	at   time.Time
}

// jumps takes the next frame with a face and reports whether the face moved
// as no head does since the one before.
func (t *track) jumps(o *Observation, now time.Time) bool {
	last, gap := t.last, max(now.Sub(t.at), leastGap)
	t.last, t.at = o, now
	if last == nil || gap > longestGap {
		return false
	}
	seconds := gap.Seconds()
	turn := math.Max(math.Abs(o.Pose.Yaw-last.Pose.Yaw), math.Abs(o.Pose.Pitch-last.Pose.Pitch))
	move := math.Hypot(o.Face.X-last.Face.X, o.Face.Y-last.Face.Y) / last.Face.Width
	scale := math.Abs(math.Log(o.Face.Width / last.Face.Width))
	return turn > poseNoise+maxTurnRate*seconds ||
		move > moveNoise+maxMoveRate*seconds ||
		scale > scaleNoise+maxScaleRate*seconds
}

// minChange is the least root-mean-square difference, in levels of luma, of
// two frames of a real camera at GrainSize points: sensor noise and the
// smallest movement give more.
const minChange = 0.35

// memory knows every frame of a capture again.
type memory struct {
	hashes map[[sha256.Size]byte]int
	grains []*Grain
}

// novelty of a frame.
type novelty int

const (
	fresh    novelty = iota
	stalled          // the same as the frame before: a camera slower than the page
	repeated         // the same as an earlier one, which no camera gives
)

// add takes the next frame with a face. Equal bytes are the same frame, and so
// are nearly equal pictures.
func (m *memory) add(jpeg []byte, o *Observation) novelty {
	if m.hashes == nil {
		m.hashes = map[[sha256.Size]byte]int{}
	}
	index := len(m.grains)
	hash := sha256.Sum256(jpeg)
	before, known := m.hashes[hash]
	for i := index - 1; i >= 0 && !known; i-- {
		known, before = o.Grain.change(m.grains[i]) < minChange, i
	}
	if known && before == index-1 {
		return stalled
	}
	if known {
		return repeated
	}
	m.hashes[hash] = index
	m.grains = append(m.grains, o.Grain)
	return fresh
}

// Grain is a frame's luma at 32 × 32 single pixels on a lattice: enough to
// know a picture again, and not averaged, so that noise shows.
type Grain [grainSide * grainSide]uint8

const grainSide = 32

// grain samples the picture.
func (p *picture) grain() *Grain {
	g := new(Grain)
	for i := range g {
		x := (2*(i%grainSide) + 1) * p.width / (2 * grainSide)
		y := (2*(i/grainSide) + 1) * p.height / (2 * grainSide)
		g[i] = p.luma[y*p.lumaStride+x]
	}
	return g
}

// change is the root mean square difference; without a grain it is infinite.
func (g *Grain) change(other *Grain) float64 {
	if g == nil || other == nil {
		return math.Inf(1)
	}
	var sum int
	for i, v := range g {
		d := int(v) - int(other[i])
		sum += d * d
	}
	return math.Sqrt(float64(sum) / float64(len(g)))
}
