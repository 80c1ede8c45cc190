package vision_test

import (
	"math"
	"testing"

	"agegate/internal/check/vision"
)

// eyesOf paints both eyes: dark on bright skin, with iris and lids, displaced by
// some samples, partly covered by a lid, and in other light.
func eyesOf(right, down, shut, light float64) *vision.Eyes {
	e := new(vision.Eyes)
	for i := range e[0] {
		x, y := float64(i%20)-9.5-right, float64(i/20)-5.5-down
		v := 170.0
		if edge := math.Hypot(x/8, y/3.5); edge < 1 {
			v = 200
			if math.Hypot(x, y) < 3 {
				v = 40
			}
			if y < -3.5+7*shut {
				v = 160
			}
		}
		if lash := y + 3.5*math.Sqrt(max(0, 1-x*x/64)) - 7*shut; math.Abs(lash) < 0.8 && math.Abs(x) < 8 {
			v = 60
		}
		e[0][i], e[1][i] = float32(light*v), float32(light*v)
	}
	return e
}

// TestResemblance: open eyes resemble themselves in other light and with slightly
// displaced landmarks, as on a hand-held print; shut eyes do not, wherever the
// landmarks are.
func TestResemblance(t *testing.T) {
	open := eyesOf(0, 0, 0, 1)
	for right := -2.0; right <= 2; right++ {
		for down := -2.0; down <= 2; down++ {
			for _, light := range []float64{0.6, 1} {
				if r := eyesOf(right, down, 0, light).Resemblance(open); r < 0.95 {
					t.Errorf("moved by %v, %v, in light %v: %.2f", right, down, light, r)
				}
				if r := eyesOf(right, down, 1, light).Resemblance(open); r > 0.6 {
					t.Errorf("shut, moved by %v, %v, in light %v: %.2f", right, down, light, r)
				}
			}
		}
	}
}
