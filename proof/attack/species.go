package attack

import (
	"context"
	"image"
	"image/color"
	"image/draw"
	"math"

	"agegate/internal/check/age"
	"agegate/internal/check/liveness"
	"agegate/proof/attack/drawn"
	"agegate/proof/attack/puppet"
)

// species is a kind of presentation; stage creates one presentation.
type species struct {
	name  string
	goal  float64 // the largest share of errors; 0 stands for Goal
	large bool    // an instrument that attackers really use, so it is played more often
	body  bool    // a person who takes the mode without head turns after a check without a result
	stage func(c *cast, seed uint64) *take
}

// play plays the presentation, and after a person's check without a result the next.
// sat reports whether there was one.
func (s species) play(ctx context.Context, c *cast, seed uint64, engine *age.Engine) (r result, sat bool, err error) {
	r, err = s.stage(c, seed).play(ctx, engine)
	if !s.body || err != nil || r.verdict != age.VerdictNoCapture {
		return r, false, err
	}
	r, err = sitting(s.stage(c, seed)).play(ctx, engine)
	return r, true, err
}

// never is the goal of attacks that must not pass even once.
const never = -1

// bonaFide are the presentations that should be accepted.
var bonaFide = []species{
	{name: follower, stage: newTake},
	{name: "person who starts the wrong way, then the right one", goal: 0.03, stage: mistaken},
	{name: "person who needs 3 s to react and 1.5 s to turn", stage: acting(reacts(3, 1.5))},
	{name: "person who cannot move the head",
		stage: func(c *cast, seed uint64) *take { return sitting(newTake(c, seed)) }},
	{name: "person who turns the phone within 0.75 s", goal: moving, stage: filmed(turning(0.75))},
	{name: "person who turns the phone within 1.5 s", goal: moving, stage: filmed(turning(1.5))},
	{name: "person whose picture changes its format", goal: moving, stage: filmed(turning(0))},
	{name: "person whose camera changes its lens", goal: moving, stage: filmed(otherLens)},
	{name: "person whom the camera keeps in the picture", goal: moving, stage: filmed(framing)},
	{name: "person whose camera changes its exposure", goal: moving, stage: filmed(exposure)},
	{name: "person who knocks against the camera", goal: moving, stage: filmed(knock)},
	{name: "person in dim light", stage: dim},
	{name: "person in the light of a warm lamp", stage: lamplit},
}

// moving is the goal of persons whose camera moves: one of 16 may get no result.
const moving = 0.1

// follower is the species whose time and data are measured.
const follower = "person who follows the prompts"

// recorded is the goal for recordings: one passes if the drawn prompts happen to
// be the recorded movements.
const recorded = 0.02

// attacks are the presentations that should not be accepted.
var attacks = []species{
	{name: "print, held still", large: true, stage: printed(puppet.Flat, (*take).linger)},
	{name: "print, turned and tilted as prompted", large: true, stage: printed(puppet.Flat, (*take).turnMore)},
	{name: "print, bent and turned as prompted", large: true, stage: printed(puppet.Bent, (*take).turnMore)},
	{name: "print, cut out, worn as a mask", large: true, stage: mask},
	{name: "print, in the mode without head turns", large: true, stage: func(c *cast, seed uint64) *take {
		return waiting(printed(puppet.Flat, (*take).stay)(c, seed))
	}},
	{name: "print, a finger before its eyes, without head turns", large: true, stage: fingered},
	{name: "screen, recording with its own order", goal: recorded, large: true, stage: screen(false)},
	{name: "screen, in the mode without head turns", large: true,
		stage: func(c *cast, seed uint64) *take { return waiting(screen(false)(c, seed)) }},
	{name: "still picture as a stream", stage: still(0)},
	{name: "still picture with added noise", stage: still(3)},
	{name: "still picture with noise, without head turns",
		stage: func(c *cast, seed uint64) *take { return waiting(still(3)(c, seed)) }},
	{name: "injected recording with its own order", goal: recorded, large: true, stage: recording},
	{name: "injected head that sweeps all directions", goal: never, stage: sweeping},
	{name: "injected recording, prompts skipped", goal: recorded, large: true, stage: skipping},
	{name: "injected gestures, instant", stage: instant},
	{name: "injected pictures of each pose", stage: poses},
	{name: "heads swapped between prompts", large: true, stage: swapped},
	{name: "heads swapped as the format changes", large: true, stage: reformatted(swapped, false)},
	{name: "pictures of each pose, the format changed between them", stage: reformatted(poses, true)},
	{name: "own head between pictures of another", large: true, stage: between},
	{name: "own head blinks for another, without head turns", large: true, stage: blinking},
	{name: "loop of identical frames", stage: loop(0)},
	{name: "loop of frames, slightly changed", stage: loop(1)},
	{name: "frames with another capture's nonce", stage: foreign},
	{name: "fabricated messages", stage: fabricated},
	{name: "cartoon that obeys, injected", stage: obeying(drawn.Cartoon)},
	{name: "drawn thumb that obeys, injected", stage: obeying(drawn.Thumb)},
	{name: "rendered head that obeys, injected", stage: obeying(drawn.Rendered)},
	{name: "rendered head that obeys, filmed off a fine screen", stage: offScreen(drawn.Rendered)},
	{name: "rendered head with drawn ageing that obeys, injected", stage: obeying(drawn.Aged)},
}

// mistaken goes the opposite way for 1.3 seconds at one of the prompts.
func mistaken(c *cast, seed uint64) *take {
	k := newTake(c, seed)
	prompts, wrong, corrected := 0, 1+k.random.IntN(liveness.Steps), math.Inf(1)
	var seen liveness.Prompt
	k.actor.Reply = func(p liveness.Prompt) puppet.Gesture {
		g := k.actor.Obey(p)
		if prompts == wrong && !math.IsInf(corrected, 1) {
			return puppet.Gesture{Yaw: -g.Yaw, Pitch: -g.Pitch}
		}
		return g
	}
	k.see = func(p liveness.Prompt, t float64) {
		if p != seen && p != "" {
			seen = p
			if prompts++; prompts == wrong {
				corrected = t + 1.6 // after 0.3 s of reaction
			}
		}
		if t > corrected {
			corrected = math.Inf(1)
			k.actor.Act(p, t)
		}
		k.actor.See(p, t)
	}
	return k
}

// sitting uses the mode without head turns; the person does not move on purpose.
func sitting(k *take) *take {
	k.assisted = true
	k.stay()
	return k
}

// waiting uses the same mode for an attack, which may use all the allowed time.
func waiting(k *take) *take {
	k.gap *= slower
	return sitting(k)
}

// slower is the factor by which a presentation that only waits lengthens the time
// between frames.
const slower = 2

// stay ignores every prompt.
func (k *take) stay() {
	k.actor.Reply = func(liveness.Prompt) puppet.Gesture { return puppet.Gesture{} }
}

// linger ignores every prompt and sends few frames.
func (k *take) linger() {
	k.gap *= slower
	k.stay()
}

// turnMore obeys with larger turns than a person's, because a flat picture
// appears to turn less than a head does.
func (k *take) turnMore() {
	k.actor.Reply = func(p liveness.Prompt) puppet.Gesture {
		g := k.actor.Obey(p)
		more := 1 + 0.8*k.random.Float64()
		return puppet.Gesture{Yaw: more * g.Yaw, Pitch: more * g.Pitch}
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
			shaky.Zoom = k.actor.Zoom
			pose, hand := k.actor.Pose(t), shaky.Pose(6*t)
			pose.Shut = 0
			pose.X, pose.Y, pose.Roll = pose.X+hand.X/4, pose.Y+hand.Y/4, pose.Roll+hand.Roll
			c.person.Draw(frame, surface, pose)
		}
		return k
	}
}

// fingered moves a finger across the eyes of a print, to imitate a blink.
func fingered(c *cast, seed uint64) *take {
	k := waiting(printed(puppet.Flat, (*take).stay)(c, seed))
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

// mask shows the face as cut-out paper in front of a living head.
func mask(c *cast, seed uint64) *take {
	k := newTake(c, seed)
	k.show = func(frame *image.RGBA, t float64) {
		pose := k.actor.Pose(t)
		c.stranger.Backdrop(frame)
		c.stranger.Draw(frame, puppet.Solid, pose)
		worn := pose
		worn.X += pose.Width * 0.3 * math.Sin(pose.Yaw*math.Pi/180) // the paper is in front of the axis of the turn
		worn.Y -= pose.Width * 0.3 * math.Sin(pose.Pitch*math.Pi/180)
		worn.Width *= 1.08
		worn.Shut = 0
		c.person.DrawFace(frame, puppet.Flat, worn)
	}
	return k
}

// performer makes gestures at its own times and in its own order, without
// following prompts.
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

// anyOrder returns an order of movements that the attacker guesses.
func (k *take) anyOrder() (order []liveness.Prompt) {
	for range 4 + k.random.IntN(5) {
		order = append(order, liveness.Actions[k.random.IntN(len(liveness.Actions))])
	}
	return order
}

// sweeping goes through all directions repeatedly, returning to level between
// them or in a circle.
func sweeping(c *cast, seed uint64) *take {
	k := newTake(c, seed)
	// turn leads to the next direction, or to the opposite one
	actions, turn := len(liveness.Actions), 1+2*k.random.IntN(2)
	var order []liveness.Prompt
	for i := range 4 * actions {
		order = append(order, liveness.Actions[(int(seed%8)+i*turn)%actions])
	}
	each, direct := 0.5+0.5*k.random.Float64(), k.random.IntN(2) == 0
	if direct {
		k.see = func(_ liveness.Prompt, t float64) { k.actor.See(order[int(t/each)%len(order)], t) }
	} else {
		k.see = k.performer(order, 0.8+0.4*k.random.Float64(), each)
	}
	return k
}

// recording is a clip of a person who made other movements at other times.
func recording(c *cast, seed uint64) *take {
	k := newTake(c, seed)
	k.see = k.performer(k.anyOrder(), 0.4+k.random.Float64(), 0.9+0.5*k.random.Float64())
	return k
}

// screen shows a recording, or a person who follows the prompts, on a tablet.
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

// skipping makes only the first movement that is prompted.
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

// instant makes every gesture faster than a person can. poses shows a picture of each
// pose after a pause, without any movement between them.
var instant, poses = acting(reacts(0, 0.08)), acting(reacts(0.4, 0))

// swapped shows another person's head during the movements.
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
		head.Draw(frame, puppet.Solid, k.pose(t))
	}
	return k
}

// between holds pictures of another person, level and in every pose, in front of
// the attacker's own head, which makes the movements between them.
func between(c *cast, seed uint64) *take {
	k := newTake(c, seed)
	k.show = func(frame *image.RGBA, t float64) {
		c.person.Backdrop(frame)
		pose, head, home := k.actor.Pose(t), c.person, k.actor.Home
		side, up := (pose.Yaw-home.Yaw)/26, (pose.Pitch-home.Pitch)/20
		switch way := math.Hypot(side, up); {
		case way > 0.65:
			sin, cos := math.Sincos(math.Round(math.Atan2(up, side)*4/math.Pi) * math.Pi / 4)
			pose.Yaw, pose.Pitch = home.Yaw+24*cos, home.Pitch+18*sin
		case way > 0.25:
			head = c.stranger
		}
		head.Draw(frame, puppet.Solid, pose)
	}
	return k
}

// blinking shows a picture until its age has been measured, and after that
// sometimes a living head.
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
