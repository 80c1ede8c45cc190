package attack

import (
	"math"

	"agegate/internal/check/liveness"
	"agegate/proof/attack/puppet"
)

// view is how a camera sees the room, relative to how it did at first. The zero
// value is unchanged.
type view struct {
	roll   float64 // degrees that the picture is turned clockwise about its middle
	closer float64 // logarithm of the enlargement
	x, y   float64 // shift, over the shorter side
	turned bool    // the picture has the other format
}

// of returns where the view shows what was at a pose, in a frame of the first
// format with the middle at x, y.
func (v view) of(p puppet.Pose, x, y float64) puppet.Pose {
	sin, cos := math.Sincos(v.roll * math.Pi / 180)
	larger := math.Exp(v.closer)
	dx, dy := larger*(p.X-x), larger*(p.Y-y)
	p.X, p.Y = dx*cos-dy*sin, dx*sin+dy*cos
	if v.turned {
		x, y = y, x
	}
	side := 2 * min(x, y)
	p.X += x + side*v.x
	p.Y += y + side*v.y
	p.Width *= larger
	p.Roll += v.roll
	return p
}

// film shows the take through a camera: seen returns its view at a time.
func (k *take) film(seen func(t float64) view) {
	first, see := k.size, k.see
	k.see = func(p liveness.Prompt, t float64) {
		see(p, t)
		k.size = first
		if seen(t).turned {
			k.size.X, k.size.Y = first.Y, first.X
		}
	}
	k.pose = func(t float64) puppet.Pose {
		zoom := k.actor.Zoom / 2
		return seen(t).of(k.actor.Pose(t), zoom*float64(first.X), zoom*float64(first.Y))
	}
}

// filmed returns an honest person whose camera does something by itself, or with
// the hand that holds it, during the challenge: work returns what it does, seconds
// after a moment that chance determines.
func filmed(work func(k *take) func(t float64) view) func(*cast, uint64) *take {
	return func(c *cast, seed uint64) *take {
		k := newTake(c, seed)
		begin, seen := 1.5+3*k.random.Float64(), work(k)
		k.film(func(t float64) view { return seen(t - begin) })
		return k
	}
}

// reformatted changes the format of an attack's pictures, so that no place
// in them can be compared with one before: twice, when the prompts begin and end,
// or at the first two prompts.
func reformatted(stage func(*cast, uint64) *take, every bool) func(*cast, uint64) *take {
	return func(c *cast, seed uint64) *take {
		k := stage(c, seed)
		shown, changes, see := liveness.Prompt(""), 0, k.see
		k.see = func(p liveness.Prompt, t float64) {
			atRest := func(p liveness.Prompt) bool { return p == "" || p == liveness.PromptHoldStill }
			if changes < 2 && (atRest(p) != atRest(shown) || every && p != shown) {
				changes++
			}
			shown = p
			see(p, t)
		}
		k.film(func(float64) view { return view{turned: changes%2 == 1} })
		return k
	}
}

// turning turns the phone by a right angle. The picture changes its format and is
// upright again when the phone notices: after half of the way, or up to a third
// of a second after its end.
func turning(lasts float64) func(*take) func(float64) view {
	return func(k *take) func(float64) view {
		way := 90.0
		if k.random.IntN(2) == 0 {
			way = -way
		}
		notices := lasts * (0.5 + 0.5*k.random.Float64())
		if k.random.IntN(2) == 0 {
			notices = lasts + k.random.Float64()/3
		}
		return func(t float64) (v view) {
			if t < 0 {
				return v
			}
			if v.turned = t >= notices; lasts > 0 {
				v.roll = way * smooth(t/lasts)
			}
			if v.turned && lasts > 0 {
				v.roll -= way
			}
			return v
		}
	}
}

// otherLens changes to a lens that shows everything 1.3 times larger at once.
func otherLens(*take) func(float64) view {
	return func(t float64) (v view) {
		if t >= 0 {
			v.closer = math.Log(1.3)
		}
		return v
	}
}

// framing moves the picture so that the face is in its middle and larger, and
// back, as cameras do that follow a person.
func framing(k *take) func(float64) view {
	side := float64(min(k.size.X, k.size.Y))
	x, y := (float64(k.size.X)/2-k.actor.Home.X)/side, (float64(k.size.Y)/2-k.actor.Home.Y)/side
	lasts := 0.6 + 0.6*k.random.Float64()
	return func(t float64) view {
		part := smooth(t/lasts) - smooth((t-2.5)/lasts)
		return view{closer: part * math.Log(1.4), x: 1.4 * part * x, y: 1.4 * part * y}
	}
}

// exposure brightens the picture 1.7 times at once, and recovers within two seconds.
func exposure(k *take) func(float64) view {
	gain := k.camera.Gain
	return func(t float64) view {
		if t >= 0 {
			k.camera.Gain = gain * (1 + 0.7*(1-smooth((t-0.5)/1.5)))
		}
		return view{}
	}
}

// knock shakes the picture for half a second.
func knock(k *take) func(float64) view {
	sin, cos := math.Sincos(2 * math.Pi * k.random.Float64())
	size := 0.08 + 0.12*k.random.Float64()
	return func(t float64) view {
		if t < 0 || t > 1 {
			return view{}
		}
		swing := size * math.Exp(-6*t) * math.Sin(2*math.Pi*5*t)
		return view{roll: 40 * swing, x: swing * cos, y: swing * sin}
	}
}

// smooth rises smoothly from 0 at 0 to 1 at 1.
func smooth(t float64) float64 {
	t = min(max(t, 0), 1)
	return t * t * (3 - 2*t)
}
