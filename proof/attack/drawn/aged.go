package drawn

import (
	"image"
	"math/rand/v2"
)

// Aged renders a head like Rendered and draws wrinkles and bags under the eyes on
// it.
func Aged(random *rand.Rand) *image.RGBA {
	s := rendered(random)
	for range 6 {
		y := 0.31 + 0.09*random.Float64()
		s.crease(arc(0.42, y, 0.58, y, 0.01*random.Float64(), 0.004))
	}
	for range 4 {
		away := 0.02 * random.Float64()
		s.crease(mirrored(arc(0.36, 0.44+away, 0.32, 0.42+3*away, 0.004, 0.003)))
	}
	s.crease(mirrored(arc(0.37, 0.5, 0.44, 0.5, 0.012, 0.006)))
	s.crease(mirrored(arc(0.455, 0.57, 0.41, 0.66, 0.008, 0.006)))
	return s.picture()
}

// crease darkens the skin along a line.
func (s *sheet) crease(line shape) {
	for i := range s {
		x, y := (float64(i%side)+0.5)/side, (float64(i/side)+0.5)/side
		if cover := min(max(0.5-line(x, y)/0.008, 0), 1); cover > 0 {
			s[i] = s[i].times(1 - 0.4*cover)
		}
	}
}
