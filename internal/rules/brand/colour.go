package brand

import (
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"

	"agegate/internal/rules/fault"
)

// Colour is an sRGB colour as six lower-case hex digits.
type Colour string

// ErrColour is returned by ParseColour for text that is not a colour.
var ErrColour = fault.New(fault.Invalid, "brand colour must be six hex digits, such as #1f5f5b")

// ParseColour reads a colour such as #1f5f5b; the number sign may be missing.
// It returns ErrColour for anything else.
func ParseColour(s string) (Colour, error) {
	digits := strings.ToLower(strings.TrimPrefix(s, "#"))
	if raw, err := hex.DecodeString(digits); err != nil || len(raw) != 3 {
		return "", ErrColour
	}
	return Colour(digits), nil
}

// MinContrast is the minimum contrast between text and background in WCAG 2.2, level AA.
const MinContrast = 4.5

// minWhite is the contrast to white from which a colour is darkened until white can be read on it.
// A paler one, such as yellow, would become another colour, so that dark text is written on it.
const minWhite = 3

// scheme holds the style sheet's values for light or dark screens, and the
// backgrounds on which a colour must be readable.
type scheme struct {
	grounds [][3]float64 // surface first
	text    [3]float64
	toward  float64 // the lightness towards which a colour is changed to gain contrast: 0 black, 1 white
}

// The values are those of tokens.css; a test compares them.
var (
	light = scheme{
		grounds: [][3]float64{channelsOf("ffffff"), channelsOf("eef2f1"), channelsOf("f3f6f5")},
		text:    channelsOf("16211f"), toward: 0,
	}
	dark = scheme{
		grounds: [][3]float64{channelsOf("182120"), channelsOf("0e1514"), channelsOf("1f2a28")},
		text:    channelsOf("eaf1ef"), toward: 1,
	}
)

// Accents are the colours that the style sheet derives from a brand, for one scheme.
type Accents struct {
	Accent Colour // links, icons and outlines
	Fill   Colour // background of primary buttons
	Strong Colour // the same under the pointer
	On     Colour // text on both
	Tint   Colour // background of notes and pictures
}

// Light returns the accents for light screens. They keep the hue of c and are darkened until they
// reach MinContrast. Buttons have a pale colour as it is, with dark text.
func (c Colour) Light() Accents {
	a := light.accents(c, channelsOf("ffffff"))
	if given := channelsOf(c); contrast(given, channelsOf("ffffff")) < minWhite {
		a.Fill, a.Strong, a.On = c, colourOf(mix(given, light.text, 0.9)), colourOf(light.text)
	}
	return a
}

// Dark returns the accents for dark screens, lightened until they reach MinContrast.
func (c Colour) Dark() Accents { return dark.accents(c, channelsOf("0e1514")) }

// step is the change of lightness from one trial to the next.
const step = 1.0 / 256

func (s scheme) accents(c Colour, on [3]float64) Accents {
	hue, saturation, lightness := hsl(channelsOf(c))
	for {
		accent := rounded(rgb(hue, saturation, lightness))
		tint := rounded(mix(accent, s.grounds[0], 0.12))
		// Black or white is readable on every background, so the search ends.
		if s.readable(accent, tint) || lightness == s.toward {
			strong := rounded(mix(accent, [3]float64{s.toward, s.toward, s.toward}, 0.8))
			return Accents{colourOf(accent), colourOf(accent), colourOf(strong), colourOf(on), colourOf(tint)}
		}
		lightness = math.Max(0, math.Min(1, lightness+step*(2*s.toward-1)))
	}
}

// readable reports whether the accent is readable on every background, and the text on the tint.
func (s scheme) readable(accent, tint [3]float64) bool {
	hides := func(ground [3]float64) bool { return contrast(accent, ground) < MinContrast }
	return !slices.ContainsFunc(s.grounds, hides) && !hides(tint) && contrast(s.text, tint) >= MinContrast
}

// CSS returns the style sheet of a colour, which follows page.css. The outline of a button is the accent,
// because a pale button may not stand out from the page.
func (c Colour) CSS() string {
	const button = ".button.primary:not(.rows *){background:var(--fill);border-color:var(--accent)}\n" +
		".button.primary:not(.rows *):hover{background:var(--accent-strong)}\n"
	const sheet = ":root{%s}\n@media (prefers-color-scheme:dark){:root{%s}}\n%s"
	return fmt.Sprintf(sheet, c.Light().css(), c.Dark().css(), button)
}

func (a Accents) css() string {
	return fmt.Sprintf("--accent:#%s;--fill:#%s;--accent-strong:#%s;--on-accent:#%s;--tint:#%s",
		a.Accent, a.Fill, a.Strong, a.On, a.Tint)
}

// Contrast returns the contrast ratio of WCAG 2.2 of two colours, from 1 to 21.
func Contrast(a, b Colour) float64 { return contrast(channelsOf(a), channelsOf(b)) }

func contrast(a, b [3]float64) float64 {
	la, lb := luminance(a), luminance(b)
	return (math.Max(la, lb) + 0.05) / (math.Min(la, lb) + 0.05)
}

// luminance returns the relative luminance of WCAG 2.2.
func luminance(c [3]float64) float64 {
	var linear [3]float64
	for i, v := range c {
		if v <= 0.04045 {
			linear[i] = v / 12.92
		} else {
			linear[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*linear[0] + 0.7152*linear[1] + 0.0722*linear[2]
}

// mix returns the mixture of two colours in which a has the given share.
func mix(a, b [3]float64, share float64) [3]float64 {
	for i := range a {
		a[i] = a[i]*share + b[i]*(1-share)
	}
	return a
}

// hsl returns the hue in sixths of the circle, and saturation and lightness
// from 0 to 1.
func hsl(c [3]float64) (h, s, l float64) {
	high, low := max(c[0], c[1], c[2]), min(c[0], c[1], c[2])
	l, spread := (high+low)/2, high-low
	if spread == 0 {
		return 0, 0, l
	}
	switch high {
	case c[0]:
		h = math.Mod((c[1]-c[2])/spread+6, 6)
	case c[1]:
		h = (c[2]-c[0])/spread + 2
	default:
		h = (c[0]-c[1])/spread + 4
	}
	return h, spread / (1 - math.Abs(2*l-1)), l
}

// rgb is the inverse of hsl.
func rgb(h, s, l float64) [3]float64 {
	var c [3]float64
	for i, shift := range []float64{0, 4, 2} { // red, green, blue
		k := math.Mod(2*h+2*shift, 12)
		c[i] = l - s*min(l, 1-l)*max(-1, min(k-3, 9-k, 1))
	}
	return c
}

// rounded returns the colour rounded to what its hex digits can express.
func rounded(c [3]float64) [3]float64 { return channelsOf(colourOf(c)) }

func colourOf(c [3]float64) Colour {
	var raw [3]byte
	for i, v := range c {
		raw[i] = byte(math.Round(math.Max(0, math.Min(1, v)) * 255))
	}
	return Colour(hex.EncodeToString(raw[:]))
}

// channelsOf returns the channels of a colour that ParseColour has accepted, from 0 to 1. Any other
// text gives black.
func channelsOf(c Colour) [3]float64 {
	var channels [3]float64
	raw, err := hex.DecodeString(string(c))
	if err != nil || len(raw) != 3 {
		return channels
	}
	for i, v := range raw {
		channels[i] = float64(v) / 255
	}
	return channels
}
