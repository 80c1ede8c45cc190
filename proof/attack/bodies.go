package attack

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math"

	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
	"agegate/proof/attack/puppet"
)

// differing is the goal of persons whose bodies differ: two of 16 may get no result.
const differing = 2.0 / 16

// bodies are persons whose bodies, seats or cameras differ. They follow every prompt as
// well as they can, and take the mode without head turns after a check without a result,
// as the page advises.
var bodies = func() []species {
	all := []species{
		body("who cannot turn to one side", only(func(g *puppet.Gesture) { g.Yaw = max(g.Yaw, 0) })),
		body("who cannot nod", only(func(g *puppet.Gesture) { g.Pitch = 0 })),
		body("whose camera is 14 degrees below, and who lowers the chin when asked", below(14)),
		body("whose camera is 11 degrees below", below(11)),
		body("who trembles by 5 degrees, 4 times a second", swings(4, func(p *puppet.Pose, s float64) { p.Yaw += 5 * s })),
		body("who trembles by 2 degrees, 5 times a second", swings(5, func(p *puppet.Pose, s float64) { p.Pitch += 2 * s })),
		body("whose hand shakes the phone", swings(3, func(p *puppet.Pose, s float64) {
			p.X, p.Y, p.Roll = p.X+p.Width/16*s, p.Y-p.Width/24*s, p.Roll+2*s
		})),
		body("in a wheelchair or a bus", swings(1.3, func(p *puppet.Pose, s float64) {
			p.Y, p.Pitch = p.Y+p.Width/8*s, p.Pitch+2*s
		})),
		body("whose head is tilted by 22 degrees", rests(func(p *puppet.Pose) { p.Roll += 22 })),
		body("whose chin is down", rests(func(p *puppet.Pose) { p.Pitch -= 12 })),
		body("who looks past the camera", rests(func(p *puppet.Pose) { p.Yaw += 8 })),
		body("who rests the chin on a hand", chinOnHand),
		body("who needs 4 s to react and 4 s to turn", reacts(4, 4)),
	}
	for _, lasts := range []float64{0.12, 0.16, 0.20, 0.25, 0.30} {
		all = append(all, body(fmt.Sprintf("whose head jerks within %.2f s", lasts),
			func(k *take) {
				k.actor.Reaction = func() (float64, float64) { return 0.25 + 0.25*k.random.Float64(), lasts }
			}))
	}
	for _, part := range []float64{0.8, 0.6, 0.5, 0.35} {
		all = append(all, body(fmt.Sprintf("who turns and nods %.0f %% of the usual way", 100*part),
			only(func(g *puppet.Gesture) { g.Yaw, g.Pitch = part*g.Yaw, part*g.Pitch })))
	}
	return all
}()

// body returns a person who differs by what change does to an ordinary one.
func body(who string, change func(*take)) species {
	return species{name: "person " + who, goal: differing, body: true, stage: acting(change)}
}

// acting stages a person who differs from an ordinary one by what change does.
func acting(change func(*take)) func(*cast, uint64) *take {
	return func(c *cast, seed uint64) *take {
		k := newTake(c, seed)
		change(k)
		return k
	}
}

// only limits the movements that a person makes.
func only(limit func(*puppet.Gesture)) func(*take) {
	return func(k *take) {
		k.actor.Reply = func(p liveness.Prompt) puppet.Gesture {
			g := k.actor.Obey(p)
			limit(&g)
			return g
		}
	}
}

// reacts sets how long a person waits, and then moves, in seconds.
func reacts(wait, motion float64) func(*take) {
	return func(k *take) { k.actor.Reaction = func() (float64, float64) { return wait, motion } }
}

// rests sets how a person holds the head without prompts.
func rests(change func(*puppet.Pose)) func(*take) { return func(k *take) { change(&k.actor.Home) } }

// swings adds a movement that nobody makes on purpose. move gets a sine of so many
// periods a second.
func swings(rate float64, move func(p *puppet.Pose, sine float64)) func(*take) {
	return func(k *take) {
		pose := k.pose
		k.pose = func(t float64) puppet.Pose {
			p := pose(t)
			move(&p, math.Sin(2*math.Pi*rate*t))
			return p
		}
	}
}

// below looks up at the person, who lowers the chin by a degree a frame while asked to.
func below(degrees float64) func(*take) {
	return func(k *take) {
		k.actor.Home.Pitch += degrees
		k.heed = func(g vision.Guidance) {
			if g == vision.GuidanceChinRaised {
				k.actor.Home.Pitch--
			}
		}
	}
}

// chinOnHand covers the chin's end with a hand that moves with the head.
func chinOnHand(k *take) {
	show := k.show
	k.show = func(frame *image.RGBA, t float64) {
		show(frame, t)
		p := k.pose(t)
		hand := image.Rect(int(-0.3*p.Width), int(0.62*p.Width), int(0.3*p.Width), int(1.2*p.Width))
		draw.Draw(frame, hand.Add(image.Pt(int(p.X), int(p.Y))), image.NewUniform(color.RGBA{205, 160, 140, 255}),
			image.Point{}, draw.Src)
	}
}
