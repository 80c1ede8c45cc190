package capture

import (
	"crypto/rand"
	"image"
	"io"
	"math"
	"math/big"
	"slices"
	"time"

	"agegate/internal/check/document/reader"
)

// tilts is how many tilts are prompted, each in another direction than the one before.
// There are 4×3×3 sequences, and a recording shows one of them.
const tilts = 3

// minReaction is the shortest time in which a person can react to a prompt.
const minReaction = 300 * time.Millisecond

// maxStray is the number of tilts in a wrong direction that are allowed, because people
// confuse left and right. After each, a new prompt is shown.
const maxStray = 2

// slope is the tilt of a document, as sines of two angles. across is positive if the left edge is nearer to the camera
// than the right one, down if the upper edge is nearer than the lower. Of two opposite sides of the zone, the nearer
// one looks longer. slope is the relative difference of their lengths, divided by the angle that the camera sees
// between them. It is computed for a phone's camera; with a longer focal length, a tilt looks smaller.
type slope struct{ across, down float64 }

// focal is the focal length of a phone's camera, divided by the longer side of its
// pictures. It corresponds to a view of some 60 degrees.
const focal = 0.87

// Minimum sines of a tilt that counts, which is 7.5 degrees, and of a tilt in a wrong direction. They are low, because
// if the lower edge is raised, the corners of the lines show little more than half of the tilt.
const (
	minTilt  = 0.13
	minStray = 0.2
)

func slopeOf(corners [4]reader.Point, size image.Point) slope {
	side := func(a, b int) float64 {
		return max(math.Hypot(corners[a].X-corners[b].X, corners[a].Y-corners[b].Y), 1)
	}
	top, right, bottom, left := side(0, 1), side(1, 2), side(3, 2), side(0, 3)
	f := focal * float64(max(size.X, size.Y))
	return slope{math.Log(left/right) * 2 * f / (top + bottom), math.Log(top/bottom) * 2 * f / (left + right)}
}

// lean returns how far the document is tilted in a direction since it was flat, as a sine.
func (s slope) lean(flat slope, direction Hint) float64 {
	switch direction {
	case RaiseLeft:
		return s.across - flat.across
	case RaiseRight:
		return flat.across - s.across
	case RaiseTop:
		return s.down - flat.down
	case RaiseBottom:
		return flat.down - s.down
	}
	return 0
}

var directions = []Hint{RaiseLeft, RaiseRight, RaiseTop, RaiseBottom}

// tilting is the state of the part of a capture that asks for tilts.
type tilting struct {
	random io.Reader
	flat   []slope // slopes of the frames before the first prompt
	prompt Hint
	shown  time.Time
	done   int
	held   int  // frames in a row that fulfil the prompt
	stray  int  // frames in a row that show another direction
	wrong  int  // wrong directions so far
	from   Hint // the direction in which the document was tilted at the prompt, until it leaves that direction
}

// heldTilt is the number of consecutive frames that confirm a tilt.
const heldTilt = 2

// ask draws a prompt for another direction than the given one.
func (t *tilting) ask(now time.Time, not Hint) {
	others := slices.DeleteFunc(slices.Clone(directions), func(d Hint) bool { return d == not })
	i, err := rand.Int(t.random, big.NewInt(int64(len(others))))
	if err != nil {
		panic("capture: no randomness for a prompt: " + err.Error())
	}
	t.prompt, t.shown, t.from = others[i.Int64()], now, not
	t.held, t.stray = 0, 0
}

// add judges a frame that shows the zone, and reports whether the document
// moved in wrong directions more often than allowed.
func (t *tilting) add(s slope, now time.Time) (refused bool) {
	flat := median(t.flat)
	if now.Sub(t.shown) < minReaction {
		return false
	}
	if s.lean(flat, t.prompt) >= minTilt {
		t.stray = 0
		if t.held++; t.held >= heldTilt {
			t.done++
			t.ask(now, t.prompt)
		}
		return false
	}
	t.held = 0
	if s.lean(flat, t.from) < minTilt {
		t.from = NoHint
	}
	strayed := NoHint
	for _, d := range directions {
		if d != t.prompt && d != t.from && s.lean(flat, d) >= minStray {
			strayed = d
		}
	}
	if strayed == NoHint {
		t.stray = 0
		return false
	}
	if t.stray++; t.stray == heldTilt {
		t.wrong++
		t.ask(now, strayed)
	}
	return t.wrong > maxStray
}

func median(slopes []slope) slope {
	var across, down []float64
	for _, s := range slopes {
		across, down = append(across, s.across), append(down, s.down)
	}
	return slope{middle(across), middle(down)}
}
