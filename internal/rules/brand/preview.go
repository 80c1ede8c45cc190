package brand

import (
	"fmt"
	"strings"
)

// The backgrounds of cards and forms in both schemes.
const (
	LightSurface Colour = "ffffff"
	DarkSurface  Colour = "182120"
)

// unbranded names the preview for a tenant without a colour.
const unbranded = "default"

// The accents of the style sheet without a brand; a test compares them.
var (
	lightDefault = Accents{Accent: "1f5f5b", Strong: "174b48", On: "ffffff", Tint: "dfeeec"}
	darkDefault  = Accents{Accent: "7fd1c7", Strong: "a3e2da", On: "06211e", Tint: "1d3a37"}
)

// Contrast returns the contrast ratio of WCAG 2.2 of two colours, from 1 to 21.
func Contrast(a, b Colour) float64 { return contrast(channelsOf(a), channelsOf(b)) }

// PreviewName returns the name under which PreviewCSS knows the colour.
func (c Colour) PreviewName() string {
	if c == "" {
		return unbranded
	}
	return string(c)
}

// PreviewCSS returns a style sheet with the colours of the hosted page in a brand's colour, for the
// parts of a page that have the classes preview-light and preview-dark. It reports false for an
// unknown name.
func PreviewCSS(name string) (string, bool) {
	lightAccents, darkAccents := lightDefault, darkDefault
	if name != unbranded {
		c, err := ParseColour(name)
		if err != nil || string(c) != name {
			return "", false
		}
		lightAccents, darkAccents = c.Light(), c.Dark()
	}
	return ".preview-light{" + light.css() + ";" + lightAccents.css() + "}\n" +
		".preview-dark{" + dark.css() + ";" + darkAccents.css() + "}\n", true
}

// css returns the properties of a scheme.
func (s scheme) css() string {
	var properties []string
	for i, name := range []string{"surface", "ground", "sunken"} {
		properties = append(properties, fmt.Sprintf("--%s:#%s", name, colourOf(s.grounds[i])))
	}
	return strings.Join(append(properties,
		"--text:#"+string(colourOf(s.text)), "--muted:#"+string(s.muted), "--line:#"+string(s.line)), ";")
}
