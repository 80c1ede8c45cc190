// Package attack is the attack range: it plays honest and dishonest camera clips,
// made from a sample face, to the real capture with the real models, and counts
// how many pass. It uses the terms of ISO/IEC 30107-3.
package attack

import (
	"cmp"
	"context"
	"errors"
	"image"
	"io"
	"math/rand/v2"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
	"agegate/proof/attack/puppet"
)

// take is one presentation to a camera: a person or an instrument, the room, and
// the connection to the server.
type take struct {
	cast     *cast
	random   *rand.Rand
	actor    *puppet.Actor
	camera   *puppet.Camera
	assisted bool
	whole    bool // sends every frame in full size, even if the server does not ask for it
	size     image.Point
	gap      float64 // seconds between frames
	latency  float64 // seconds that a picture takes to the server, and the answer back

	// show draws what is in front of the camera at a time. see is called first,
	// with what the page shows. pose is where an honest person's head is in the frame.
	show func(frame *image.RGBA, t float64)
	see  func(p liveness.Prompt, t float64)
	pose func(t float64) puppet.Pose
	// heed, if not nil, makes the person follow the guidance for the last frame.
	heed func(vision.Guidance)
	// shoot makes the JPEG of frame n; if nil, the camera does.
	shoot func(n int, frame *image.RGBA) ([]byte, error)
	// send changes the message; if nil, it is sent as the page sends it.
	send func(f *age.Frame)
	dice io.Reader // of the capture; if nil, random
}

// cast holds the heads and pictures that can be shown.
type cast struct {
	person, stranger *puppet.Head
	analyzer         vision.Analyzer // finds the faces of further heads
}

// newTake returns an honest person in an ordinary room.
func newTake(c *cast, seed uint64) *take {
	random := rand.New(rand.NewPCG(seed, 30107)) //nolint:gosec // every run must be the same
	between := func(low, high float64) float64 { return low + (high-low)*random.Float64() }
	k := &take{cast: c, random: random, camera: puppet.NewCamera(random), size: image.Pt(640, 480)}
	if random.IntN(3) == 0 {
		k.size = image.Pt(480, 640) // a phone
	}
	// quality of the page's JPEGs
	k.camera.Noise, k.camera.Gain, k.camera.Quality = between(1.5, 4), between(0.8, 1.15), 80
	k.gap, k.latency = between(0.15, 0.2), between(0.02, 0.08)
	k.actor = puppet.NewActor(random, puppet.Pose{
		Yaw: between(-4, 4), Pitch: between(-5, 4), Roll: between(-6, 6),
		X: float64(k.size.X) * between(0.42, 0.58), Y: float64(k.size.Y) * between(0.44, 0.56),
		Width: 480 * between(0.25, 0.42),
	})
	k.see, k.pose = k.actor.See, k.actor.Pose
	head := c.person
	if random.IntN(2) == 0 {
		head = c.stranger
	}
	k.show = func(frame *image.RGBA, t float64) {
		head.Backdrop(frame)
		head.Draw(frame, puppet.Solid, k.pose(t))
	}
	return k
}

// result is the result of one take.
type result struct {
	verdict age.Verdict   // "" after an error
	err     error         // the error that ended the attempt
	prompts int           // number of prompts fulfilled
	took    time.Duration // the person's time
	frames  int
	bytes   int // of the frames' JPEGs
}

// accepted reports whether the gateway accepted the presentation as a live
// person.
func (r result) accepted() bool {
	return r.verdict == age.VerdictMet || r.verdict == age.VerdictBelow
}

// Frames that only guide: their size, relative to frames that may count, and the
// quality of the page's JPEGs of them.
const (
	guiding        = 0.6
	guidingQuality = 60
)

// play shows the take to a new capture. Time is simulated.
func (k *take) play(ctx context.Context, engine *age.Engine) (result, error) {
	t := 0.0
	clock := func() time.Time { return time.Unix(0, int64(t*float64(time.Second))) }
	capture := engine.NewCapture(age.Options{TargetAge: 13, Assisted: k.assisted, Now: clock,
		Rand: cmp.Or[io.Reader](k.dice, chance{k.random})})
	var last age.Step
	sent := 0
	for n := 0; ; n++ {
		if k.heed != nil {
			k.heed(last.Guidance)
		}
		k.see(last.Prompt, t)
		k.actor.Zoom = 1
		if !k.whole && !last.Full {
			k.actor.Zoom = guiding
		}
		frame := image.NewRGBA(image.Rect(0, 0, int(k.actor.Zoom*float64(k.size.X)), int(k.actor.Zoom*float64(k.size.Y))))
		k.show(frame, t)
		noise, quality := k.camera.Noise, k.camera.Quality
		k.camera.Noise *= k.actor.Zoom // merging pixels reduces their noise
		if k.actor.Zoom == guiding {
			k.camera.Quality = guidingQuality
		}
		jpeg, err := k.picture(n, frame)
		k.camera.Noise, k.camera.Quality = noise, quality
		if err != nil {
			return result{}, err
		}
		message := age.Frame{Nonce: capture.Nonce(), Seq: uint32(n), JPEG: jpeg}
		if k.send != nil {
			k.send(&message)
		}
		taken := t
		sent += len(message.JPEG)
		t += k.latency
		step, err := capture.Add(ctx, message)
		if step.Verdict != "" || ended(err) {
			return result{step.Verdict, err, step.Done, clock().Sub(time.Unix(0, 0)), n + 1, sent}, nil
		}
		if err != nil {
			return result{}, err
		}
		last = step
		t = max(t+k.latency, taken+k.gap*(0.95+0.1*k.random.Float64()))
	}
}

// picture makes the JPEG of frame n.
func (k *take) picture(n int, frame *image.RGBA) ([]byte, error) {
	if k.shoot != nil {
		return k.shoot(n, frame)
	}
	return k.camera.Shoot(frame)
}

// ended reports whether the capture refused the message and ended.
func ended(err error) bool {
	for _, known := range []error{age.ErrForeignFrame, age.ErrFrameOrder, vision.ErrFrameTooLarge, age.ErrMalformedFrame} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// chance is a deterministic stream of random bytes.
type chance struct{ random *rand.Rand }

func (c chance) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(c.random.Uint32()) //nolint:gosec // only the low byte is wanted
	}
	return len(p), nil
}
