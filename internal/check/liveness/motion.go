package liveness

import (
	"context"
	"crypto/sha256"
	"math"
	"time"

	"agegate/internal/check/vision"
)

// Limits of motion between two frames that follow each other. A brisk turn from
// level peaks at some 150 degrees a second, and one from side to side at 220; a head that
// jerks goes from side to side within an eighth of a second, which two frames show as 330.
// The measured pose has a few degrees of noise.
const (
	maxTurnRate  = 400.0 // degrees a second
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

// maxResumed is how often the camera may change the picture in one capture. Twice is
// enough for a person who turns the phone and turns it back.
const maxResumed = 2

// Frame is a frame of a capture.
type Frame struct {
	*vision.Observation
	JPEG []byte
	At   time.Time     // when it arrived
	Own  time.Time     // the same on a clock that stood still while the server worked: time limits run by it
	Trip time.Duration // the round-trip time of its connection; it may have been taken that much earlier
}

// Outcome is what one frame means.
type Outcome int

// The outcomes of a frame. A watch gives those above the line, and a challenge all
// except Plausible.
const (
	Plausible Outcome = iota // the face moved as a head may
	Unseen                   // the frame shows too little to decide anything
	Still                    // the same as the frame before, because the camera is slower than the page
	Leaning                  // the head leans further than prompts ask for: somebody is turning the phone
	Resumed                  // the camera has changed the picture, and it shows the same person
	Missed                   // the time is over, or too much went wrong
	Failed                   // the frame shows something that no live person does
	// ----
	GoesOn  // the prompt is not fulfilled yet
	AtLevel // the head is level: the frame may count
	Acted   // the frame fulfils a prompt
)

// Watch follows one person from frame to frame, and collects what the frames that count
// show about them.
type Watch struct {
	Evidence
	memory  Memory
	neutral *vision.Observation // the level head with which the watch began
	last    *vision.Observation
	at      time.Time // of last
	resumed int       // changes of the picture by the camera
}

// NewWatch starts at a frame with a level face; memory knows the frames before it.
func NewWatch(analyzer vision.Analyzer, memory Memory, f Frame) *Watch {
	o := f.Observation
	return &Watch{Evidence: Evidence{analyzer: analyzer}, memory: memory, neutral: o, last: o, at: f.At}
}

// Follow takes the next frame. While the head leans, its pose is uncertain, so that the
// frame should not be judged.
func (w *Watch) Follow(ctx context.Context, f Frame) (Outcome, error) {
	if f.Landmarks == nil {
		return Unseen, nil
	}
	switch w.memory.Add(f.JPEG, f.Observation) {
	case Repeated:
		return Failed, nil
	case Stalled:
		return Still, nil
	}
	if math.Abs(f.Pose.Roll-w.neutral.Pose.Roll) > leaning {
		return Leaning, nil
	}
	if !f.HasFormatOf(w.last) {
		return w.rejoin(ctx, f)
	}
	last, gap := w.last, max(f.At.Sub(w.at), minGap)
	w.last, w.at = f.Observation, f.At
	if gap <= longestGap && jumps(last, f.Observation, gap.Seconds()) {
		return Failed, nil
	}
	return Plausible, nil
}

// rejoin continues with a picture of another format, as when somebody turns the phone.
// Positions in it cannot be compared with earlier ones, so its face must be the same as
// before. If the frame is unclear, rejoin decides nothing.
func (w *Watch) rejoin(ctx context.Context, f Frame) (Outcome, error) {
	likeness, err := w.Recognize(ctx, f.Observation, w.last)
	switch {
	case err != nil || likeness == Unclear:
		return Unseen, err
	case likeness == Other:
		return Failed, nil
	case w.resumed == maxResumed:
		return Missed, nil
	}
	w.resumed++
	w.last, w.at = f.Observation, f.At
	return Resumed, nil
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
