package liveness

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"agegate/internal/check/vision"
)

// dice is a random source that gives the same numbers in every run.
type dice struct{ *rand.Rand }

func (d dice) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(d.Uint32())
	}
	return len(p), nil
}

// mover is a head that goes from one aim to the next.
type mover struct {
	from, to     aim
	start, lasts float64 // seconds
}

func (m *mover) at(t float64) aim {
	part := min(max((t-m.start)/max(m.lasts, 1e-3), 0), 1)
	return aim{m.from.side + part*(m.to.side-m.from.side), m.from.up + part*(m.to.up-m.from.up)}
}

// move starts a movement to an aim after a wait.
func (m *mover) move(t, wait float64, to aim, lasts float64) {
	m.from, m.to, m.start, m.lasts = m.at(t), to, t+wait, lasts
}

// ending is how a challenge ended.
type ending struct {
	outcome   Outcome // AtLevel: complete
	took      float64
	corrected int // fresh prompts in answer to a wrong direction
}

// begun returns a challenge that has just begun, of a level head.
func begun(random *rand.Rand, now time.Time) *Challenge {
	f := Frame{Observation: &vision.Observation{}, At: now, Own: now}
	return NewChallenge(dice{random}, NewWatch(nil, Memory{}, f), f)
}

// perform lets a head perform a challenge; before each frame, next receives what
// the page shows.
func perform(random *rand.Rand, gap float64, next func(c *Challenge, t float64) aim) ending {
	epoch := time.Unix(0, 0)
	c := begun(random, epoch)
	corrected := 0
	for t := gap; t < 600; t += gap {
		wrong := c.wrong
		a := next(c, t)
		o := &vision.Observation{Pose: vision.Pose{Yaw: a.side * turned, Pitch: a.up * raised}}
		now := epoch.Add(time.Duration(t * float64(time.Second)))
		var outcome Outcome
		c.state, outcome = c.judged(Frame{Observation: o, At: now, Own: now})
		corrected += c.wrong - wrong
		if c.Complete() || outcome == Missed || outcome == Failed {
			return ending{outcome, t, corrected}
		}
	}
	panic("a challenge without an end")
}

// follower follows each prompt after a reaction time, at a given pace. mistake,
// if not nil, returns where the head goes first, and for how long.
type follower struct {
	mover
	reaction, motion, reach float64
	mistake                 func(p Prompt) (aim, float64)

	seen   Prompt
	right  float64 // when the follower corrects a mistake
	erring bool
}

func (f *follower) next(c *Challenge, t float64) aim {
	if p := c.Prompt; p != f.seen {
		f.seen, f.erring = p, false
		target := aims[p].scaled(f.reach)
		if f.mistake != nil && p != PromptHoldStill {
			if to, lasts := f.mistake(p); lasts > 0 {
				target, f.erring, f.right = to.scaled(f.reach), true, t+f.reaction+lasts
			}
		}
		f.move(t, f.reaction, target, f.motion)
	}
	if f.erring && t > f.right {
		f.erring = false
		f.move(t, 0, aims[f.seen].scaled(f.reach), f.motion)
	}
	return f.at(t)
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 11)) }

// TestFollowers: a person who follows every prompt passes, at any pace within the
// time limits and however far they turn.
func TestFollowers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func(name string, low, high float64) float64 { return rapid.Float64Range(low, high).Draw(t, name) }
		f := &follower{reaction: number("reaction", 0.2, 12), motion: number("motion", 0.3, 4),
			reach: number("reach", 1.2, 2.2)}
		end := perform(seeded(rapid.Uint64().Draw(t, "seed")), number("gap", 0.1, 0.4), f.next)
		if end.outcome != AtLevel || end.corrected != 0 {
			t.Fatalf("%+v", end)
		}
	})
}

// TestMistaken: a person who confuses left and right, or a direction and its
// opposite, and corrects it after a while, passes: in any two prompts if they
// notice the fresh prompt within a second, in one prompt if they are slower.
func TestMistaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func(name string, low, high float64) float64 { return rapid.Float64Range(low, high).Draw(t, name) }
		wrongFor, mirror := number("wrong for", 0.4, 4), rapid.Bool().Draw(t, "mirror")
		f := &follower{reaction: number("reaction", 0.3, 3), motion: number("motion", 0.3, 1.5),
			reach: number("reach", 1.2, 2)}
		prompts, first, second := 0, rapid.IntRange(1, 2).Draw(t, "first"), rapid.IntRange(3, 5).Draw(t, "second")
		if f.reaction+f.motion/2 > 0.8 {
			second = 0
		}
		f.mistake = func(p Prompt) (aim, float64) {
			a := aims[p]
			switch prompts++; {
			case prompts != first && prompts != second:
				return a, 0
			case mirror && math.Abs(a.side) > 0.5:
				return aim{-a.side, a.up}, wrongFor
			}
			return a.scaled(-1), wrongFor
		}
		if end := perform(seeded(rapid.Uint64().Draw(t, "seed")), number("gap", 0.1, 0.25), f.next); end.outcome != AtLevel {
			t.Fatalf("%+v", end)
		}
	})
}

// TestWrongDirections: wrong directions alone never make a spoof, and the number
// of corrections is bounded.
func TestWrongDirections(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &follower{reaction: 0.4, motion: 0.5, reach: 1.6}
		script := rapid.SliceOfN(rapid.IntRange(0, len(Actions)-1), 8, 8).Draw(t, "directions")
		n := 0
		f.mistake = func(Prompt) (aim, float64) {
			n++
			return aims[Actions[script[n%len(script)]]], 1
		}
		if end := perform(seeded(rapid.Uint64().Draw(t, "seed")), 0.15, f.next); end.outcome == Failed ||
			end.corrected > maxWrong+1 {
			t.Fatalf("%+v", end)
		}
	})
}

// toward returns the aim at i eighths of a full turn from the person's left.
func toward(i int) aim {
	sin, cos := math.Sincos(float64(i) * math.Pi / 4)
	return aim{cos, sin}
}

// blind are heads that move without regard to the prompts. Each returns the next
// direction, or level, and the seconds for the way and for the stay.
var blind = map[string]func(r *rand.Rand, n int) (to aim, motion, stay float64){
	"a recording, level between its movements": func(r *rand.Rand, n int) (aim, float64, float64) {
		if n%2 == 1 {
			return aim{}, 0.5, 0.3 + 0.5*r.Float64()
		}
		return aims[Actions[r.IntN(len(Actions))]], 0.5, 0.3 + 0.7*r.Float64()
	},
	"a recording from one direction to another": func(r *rand.Rand, _ int) (aim, float64, float64) {
		return aims[Actions[r.IntN(len(Actions))]], 0.5, 0.4 + 0.4*r.Float64()
	},
	"all directions in order, level between": func(_ *rand.Rand, n int) (aim, float64, float64) {
		if n%2 == 1 {
			return aim{}, 0.4, 0.2
		}
		return toward(n / 2), 0.4, 0.4
	},
	"a slow circle": func(_ *rand.Rand, n int) (aim, float64, float64) {
		sin, cos := math.Sincos(float64(n) * math.Pi / 8)
		return aim{cos, sin}, 0.35, 0
	},
	"a fast circle": func(_ *rand.Rand, n int) (aim, float64, float64) {
		sin, cos := math.Sincos(float64(n) * math.Pi / 4)
		return aim{cos, sin}, 0.3, 0
	},
	"left and right": func(_ *rand.Rand, n int) (aim, float64, float64) { return toward(4 * n), 0.5, 0.5 },
	"a star":         func(_ *rand.Rand, n int) (aim, float64, float64) { return toward(3 * n), 0.5, 0.45 },
	"a cross": func(_ *rand.Rand, n int) (aim, float64, float64) {
		return toward([]int{0, 4, 2, 6}[n%4]), 0.5, 0.45
	},
}

// TestOdds: a head that ignores the prompts passes by chance in less than one
// attempt in 80 if it returns to level between its movements, as a recording of
// another challenge may, and in less than one in 25 for every other plan tried.
func TestOdds(t *testing.T) {
	const attempts = 4_000
	for name, plan := range blind {
		passed, failed := 0, 0
		for i := range uint64(attempts) {
			r := seeded(i)
			m, until, n := mover{}, 0.3+r.Float64(), 0
			turn := r.Float64() * 2 * math.Pi * float64(r.IntN(2)) // the directions need not be those of the prompts
			end := perform(r, 0.13+0.07*r.Float64(), func(_ *Challenge, t float64) aim {
				if t >= until {
					to, motion, stay := plan(r, n)
					sin, cos := math.Sincos(turn)
					to = aim{to.side*cos - to.up*sin, to.side*sin + to.up*cos}
					m.move(t, 0, to.scaled(1.5), motion)
					until, n = t+motion+stay, n+1
				}
				return m.at(t)
			})
			switch end.outcome {
			case AtLevel:
				passed++
			case Failed:
				failed++
			}
		}
		t.Logf("%-45s %.2f %% pass, %.1f %% too early", name, 100*float64(passed)/attempts, 100*float64(failed)/attempts)
		bound := attempts / 25
		if strings.Contains(name, "level between") {
			bound = attempts / 80
		}
		if passed > bound {
			t.Errorf("%s: %d of %d pass", name, passed, attempts)
		}
	}
}

// TestMoreTime: each request extends the current prompt, up to a number of
// requests in one challenge, no matter for which prompts.
func TestMoreTime(t *testing.T) {
	now := time.Unix(0, 0)
	c := begun(seeded(1), now)
	for n := range maxExtensions {
		before := c.Until
		if c.Extensions == 0 || !c.MoreTime() {
			t.Fatalf("request %d was refused", n+1)
		}
		if c.Until.Sub(before) != extraTime {
			t.Fatalf("request %d: %v became %v", n+1, before, c.Until)
		}
	}
	c.state = c.asking(c.draw(aim{}), aim{}, Frame{At: now, Own: now})
	if left := c.Until.Sub(now); c.Extensions != 0 || c.MoreTime() || left != 2*promptTime {
		t.Errorf("after the last request: %v left for a new prompt, offered %v", left, c.Extensions)
	}
}

// A prompt after a complete challenge may be the latest one again, so that the page says "once more".
func TestAFurtherPromptIsAskedForOnceMore(t *testing.T) {
	t.Parallel()
	random, now := seeded(1), time.Unix(0, 0)
	c := begun(random, now)
	for n := 1; n <= maxProlonged; n++ {
		prolonged := c.Prolong(Frame{Observation: &vision.Observation{}, At: now, Own: now})
		if !prolonged || c.Total != Steps+n || c.Hint != HintAgain {
			t.Errorf("%d of %d, hint %q", n, c.Total, c.Hint)
		}
	}
}
