package brand

// The backgrounds of cards and forms in both schemes.
const (
	LightSurface Colour = "ffffff"
	DarkSurface  Colour = "182120"
)

// Contrast returns the contrast ratio of WCAG 2.2 of two colours, from 1 to 21.
func Contrast(a, b Colour) float64 { return contrast(channelsOf(a), channelsOf(b)) }
