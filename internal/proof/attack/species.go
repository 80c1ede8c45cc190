package attack

import (
	"image"
	"image/color"
	"image/draw"
	"math"

	"agegate/internal/liveness"
	"agegate/internal/proof/attack/puppet"
)

// species is a kind of presentation; stage makes one of them.
type species struct {
	name  string
	stage func(c *cast, seed uint64) *take
}

// bonaFide are the presentations that should be accepted.
var bonaFide = []species{
	{"person who follows the prompts", newTake},
	{"person who cannot move the head", func(c *cast, seed uint64) *take { return sitting(newTake(c, seed)) }},
}

// attacks are the presentations that should not.
var attacks = []species{
	{"print, held still", printed(puppet.Flat, (*take).stay)},
	{"print, turned and tilted as prompted", printed(puppet.Flat, (*take).turnMore)},
	{"print, bent and turned as prompted", printed(puppet.Bent, (*take).turnMore)},
	{"print, cut out, worn as a mask", mask},
	{"print, in the mode without head turns", func(c *cast, seed uint64) *take {
		return sitting(printed(puppet.Flat, (*take).stay)(c, seed))
	}},
	{"print, a finger before its eyes, without head turns", fingered},
	{"screen, recording with its own order", screen(false)},
	{"screen, in the mode without head turns", func(c *cast, seed uint64) *take { return sitting(screen(false)(c, seed)) }},
	{"still picture as a stream", still(0)},
	{"still picture with added noise", still(3)},
	{"still picture with noise, without head turns", func(c *cast, seed uint64) *take { return sitting(still(3)(c, seed)) }},
	{withOwnOrder, recording},
	{"injected recording, prompts skipped", skipping},
	{"injected gestures, instant", instant},
	{"injected pictures of each pose", poses},
	{"heads swapped between prompts", swapped},
	{"own head between pictures of another", between},
	{"own head blinks for another, without head turns", blinking},
	{"loop of identical frames", loop(0)},
	{"loop of frames, slightly changed", loop(1)},
	{"frames with another capture's nonce", foreign},
	{"fabricated messages", fabricated},
}

const withOwnOrder = "injected recording with its own order"

// oftener is how many times as often as the others a species is played. A
// recording comes through when the drawn challenge happens to be the recorded
// one: 1 of 32 at best, of which 30 presentations say little.
var oftener = map[string]int{withOwnOrder: 4}

// sitting asks for the mode without head turns; nothing moves on purpose.
func sitting(k *take) *take {
	k.assisted = true
	k.stay()
	return k
}

// stay ignores every prompt.
func (k *take) stay() {
	k.actor.Reply = func(liveness.Prompt) puppet.Gesture { return puppet.Gesture{} }
}

// turnMore obeys, by more than a head would be turned: a flat thing shows less
// of a turn than a head.
func (k *take) turnMore() {
	k.actor.Reply = func(p liveness.Prompt) puppet.Gesture {
		g := k.actor.Obey(p)
		more := 1 + 0.8*k.random.Float64()
		return puppet.Gesture{Yaw: more * g.Yaw, Pitch: more * g.Pitch, Closer: g.Closer}
	}
}

// printed shows the face on paper, held by a hand.
func printed(surface puppet.Surface, behave func(*take)) func(*cast, uint64) *take {
	return func(c *cast, seed uint64) *take {
		k := newTake(c, seed)
		behave(k)
		shaky := puppet.NewActor(k.random, puppet.Pose{Width: 300})
		k.show = func(frame *image.RGBA, t float64) {
			c.stranger.Backdrop(frame)
			pose, hand := k.actor.Pose(t), shaky.Pose(6*t)
			pose.Shut = 0
			pose.X, pose.Y, pose.Roll = pose.X+hand.X/4, pose.Y+hand.Y/4, pose.Roll+hand.Roll
			c.person.Draw(frame, surface, pose)
		}
		return k
	}
}

// fingered passes a finger before the eyes of a print, as if they blinked.
func fingered(c *cast, seed uint64) *take {
	k := sitting(printed(puppet.Flat, (*take).stay)(c, seed))
	show := k.show
	k.show = func(frame *image.RGBA, t float64) {
		show(frame, t)
		if t < 2.5 || math.Mod(t, 1.5) > 0.3 {
			return
		}
		pose := k.actor.Pose(t)
		across, down := int(0.5*pose.Width), int(0.07*pose.Width)
		finger := image.Rect(-across, -down, across, down).Add(image.Pt(int(pose.X), int(pose.Y-0.2*pose.Width)))
		draw.Draw(frame, finger, image.NewUniform(color.RGBA{200, 155, 135, 255}), image.Point{}, draw.Src)
	}
	return k
}

// mask shows the face as cut-out paper before a living head.
func mask(c *cast, seed uint64) *take {
	k := newTake(c, seed)
	k.show = func(frame *image.RGBA, t float64) {
		pose := k.actor.Pose(t)
		c.stranger.Backdrop(frame)
		c.stranger.Draw(frame, puppet.Solid, pose)
		worn := pose
		worn.X += pose.Width * 0.3 * math.Sin(pose.Yaw*math.Pi/180) // it is before the axis of the turn
		worn.Y -= pose.Width * 0.3 * math.Sin(pose.Pitch*math.Pi/180)
		worn.Width *= 1.08
		worn.Shut = 0
		c.person.DrawFace(frame, puppet.Flat, worn)
	}
	return k
}

// performer makes its gestures when it likes and as it likes.
func (k *take) performer(order []liveness.Prompt, begin, each float64) func(liveness.Prompt, float64) {
	return func(_ liveness.Prompt, t float64) {
		i := int(math.Floor((t - begin) / each))
		now := liveness.PromptHoldStill
		if i >= 0 && i < 2*len(order) && i%2 == 0 {
			now = order[i/2]
		}
		k.actor.See(now, t)
	}
}

// anyOrder is an order that the attacker expects.
func (k *take) anyOrder() []liveness.Prompt {
	order := append([]liveness.Prompt{}, liveness.Actions...)
	k.random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order[:2+k.random.IntN(2)]
}

// recording is a clip of a person who made other movements at other times.
func recording(c *cast, seed uint64) *take {
	k := newTake(c, seed)
	k.see = k.performer(k.anyOrder(), 0.4+k.random.Float64(), 0.9+0.5*k.random.Float64())
	return k
}

// screen shows such a recording, or a person who obeys, on a tablet.
func screen(obeys bool) func(*cast, uint64) *take {
	return func(c *cast, seed uint64) *take {
		k := newTake(c, seed)
		if !obeys {
			k = recording(c, seed)
		}
		display := newDisplay(k.random)
		k.show = func(frame *image.RGBA, t float64) {
			c.person.Backdrop(frame)
			c.person.Draw(frame, puppet.Solid, k.actor.Pose(t))
			display.light(frame, t)
		}
		return k
	}
}

// skipping makes the first movement that is asked for and no other.
func skipping(c *cast, seed uint64) *take {
	k := newTake(c, seed)
	made := false
	k.actor.Reply = func(p liveness.Prompt) puppet.Gesture {
		if p == liveness.PromptHoldStill || made {
			return puppet.Gesture{}
		}
		made = true
		return k.actor.Obey(p)
	}
	return k
}

// instant makes every gesture faster than any body.
func instant(c *cast, seed uint64) *take {
	k := newTake(c, seed)
	k.eager = true
	k.actor.Reaction = func() (float64, float64) { return 0, 0.08 }
	return k
}

// poses shows a picture of each pose, after a pause and without any way
// between, and enlarges one bit by bit to come closer.
func poses(c *cast, seed uint64) *take {
	k := newTake(c, seed)
	k.eager = true
	human, asked, before := k.actor.Reaction, liveness.PromptHoldStill, liveness.PromptHoldStill
	k.see = func(p liveness.Prompt, t float64) {
		if p != asked {
			asked, before = p, asked
		}
		k.actor.See(p, t)
	}
	k.actor.Reaction = func() (float64, float64) {
		switch liveness.PromptComeCloser {
		case asked:
			return human()
		case before:
			return 0, 0.5
		}
		return 0.4, 0
	}
	return k
}

// swapped puts another person's head there for the movements.
func swapped(c *cast, seed uint64) *take {
	k := newTake(c, seed)
	asked := liveness.PromptHoldStill
	k.see = func(p liveness.Prompt, t float64) {
		asked = p
		k.actor.See(p, t)
	}
	k.show = func(frame *image.RGBA, t float64) {
		c.person.Backdrop(frame)
		head := c.person
		if asked != liveness.PromptHoldStill && asked != "" {
			head = c.stranger
		}
		head.Draw(frame, puppet.Solid, k.actor.Pose(t))
	}
	return k
}

// between holds pictures of another person, level and in every pose, before
// one's own head, which makes the way from one to the next.
func between(c *cast, seed uint64) *take {
	k := newTake(c, seed)
	k.show = func(frame *image.RGBA, t float64) {
		c.person.Backdrop(frame)
		pose, head, home := k.actor.Pose(t), c.person, k.actor.Home
		switch aside, up := pose.Yaw-home.Yaw, pose.Pitch-home.Pitch; {
		case math.Abs(aside) > 16:
			pose.Yaw = home.Yaw + math.Copysign(24, aside)
		case up > 12:
			pose.Pitch = home.Pitch + 18
		case math.Max(math.Abs(aside), up) > 6:
			head = c.stranger
		}
		head.Draw(frame, puppet.Solid, pose)
	}
	return k
}

// blinking shows a picture until its age is known, and then now and then a
// living head instead.
func blinking(c *cast, seed uint64) *take {
	k := sitting(newTake(c, seed))
	k.show = func(frame *image.RGBA, t float64) {
		c.person.Backdrop(frame)
		pose, head := k.actor.Pose(t), c.person
		pose.Shut = 0
		if t > 4 && math.Mod(t, 1) < 0.4 {
			head = c.stranger
		}
		head.Draw(frame, puppet.Solid, pose)
	}
	return k
}
