package brand

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// checkAccents reports the accents of a scheme that are not readable.
func checkAccents(s scheme, a Accents) error {
	accent, strong, on, tint := channelsOf(a.Accent), channelsOf(a.Strong), channelsOf(a.On), channelsOf(a.Tint)
	pairs := [][2][3]float64{{accent, tint}, {s.text, tint}, {on, channelsOf(a.Fill)}, {on, strong}}
	for _, ground := range s.grounds {
		pairs = append(pairs, [2][3]float64{accent, ground})
	}
	for _, p := range pairs {
		if c := contrast(p[0], p[1]); c < MinContrast {
			return fmt.Errorf("%+v: %s on %s has a contrast of %.2f", a, colourOf(p[0]), colourOf(p[1]), c)
		}
	}
	return nil
}

func checkColour(c Colour) error {
	if err := checkAccents(light, c.Light()); err != nil {
		return fmt.Errorf("light %s: %w", c, err)
	}
	if err := checkAccents(dark, c.Dark()); err != nil {
		return fmt.Errorf("dark %s: %w", c, err)
	}
	return nil
}

// Accents are readable for every hue, whether pale, dull, dark or bright.
func TestAccentsCanBeRead(t *testing.T) {
	for hue := range 360 {
		for _, saturation := range []float64{0, 0.3, 1} {
			for _, lightness := range []float64{0, 0.2, 0.5, 0.8, 1} {
				if err := checkColour(colourOf(rgb(float64(hue)/60, saturation, lightness))); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOfN(rapid.Byte(), 3, 3).Draw(t, "colour")
		if err := checkColour(Colour(fmt.Sprintf("%x", raw))); err != nil {
			t.Fatal(err)
		}
	})
}

// A readable colour is not changed; an unreadable one keeps its hue.
func TestAccentsStayNear(t *testing.T) {
	if got := Colour("1f5f5b").Light().Accent; got != "1f5f5b" {
		t.Errorf("a readable colour became %s", got)
	}
	for _, c := range []Colour{"ff0000", "ffd400", "00a0ff", "f7b2d9"} {
		want, _, _ := hsl(channelsOf(c))
		for _, a := range []Accents{c.Light(), c.Dark()} {
			if got, _, _ := hsl(channelsOf(a.Accent)); math.Abs(got-want) > 0.1 {
				t.Errorf("%s became %s", c, a.Accent)
			}
		}
	}
}

// TestButtonsKeepTheColour: a merchant recognises the brand on the buttons. A pale colour stays as it
// is, with dark text and an outline that can be seen; another one is darkened only a little.
func TestButtonsKeepTheColour(t *testing.T) {
	for c, as := range map[Colour]string{
		"ffd400": "16211f on ffd400", "90ee90": "16211f on 90ee90", "00ffff": "16211f on 00ffff",
		"ff8c00": "16211f on ff8c00", "ffffff": "16211f on ffffff", "f7b2d9": "16211f on f7b2d9",
		"1f5f5b": "ffffff on 1f5f5b", "000000": "ffffff on 000000",
	} {
		a := c.Light()
		if got := string(a.On) + " on " + string(a.Fill); got != as {
			t.Errorf("%s: %s", c, got)
		}
		if outline := Contrast(a.Accent, "ffffff"); outline < 3 {
			t.Errorf("%s: the outline has a contrast of %.2f", c, outline)
		}
		if text := min(Contrast(a.On, a.Fill), Contrast(a.On, a.Strong)); text < MinContrast {
			t.Errorf("%s: the text has a contrast of %.2f", c, text)
		}
	}
	for _, c := range []Colour{"ffd400", "90ee90", "00ffff"} {
		if got := c.Dark().Fill; got != c {
			t.Errorf("on dark screens %s became %s", c, got)
		}
	}
	if red := Colour("ff0000").Light(); red.Fill != red.Accent || red.On != "ffffff" {
		t.Errorf("red became %+v", red)
	}
}

func TestHSLRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Colour(fmt.Sprintf("%x", rapid.SliceOfN(rapid.Byte(), 3, 3).Draw(t, "colour")))
		if got := colourOf(rgb(hsl(channelsOf(c)))); got != c {
			t.Fatalf("%s came back as %s", c, got)
		}
	})
}

// Known ratios of WCAG's formula.
func TestContrast(t *testing.T) {
	for _, tt := range []struct {
		a, b Colour
		want float64
	}{{"ffffff", "000000", 21}, {"777777", "ffffff", 4.478}, {"767676", "ffffff", 4.542}, {"ff0000", "ffffff", 3.998}} {
		if got := contrast(channelsOf(tt.b), channelsOf(tt.a)); math.Abs(got-tt.want) > 0.001 {
			t.Errorf("%s on %s: %.3f, want %.3f", tt.a, tt.b, got, tt.want)
		}
	}
}

// The backgrounds and text colours here are those of the pages' style sheet.
func TestSchemesAreThoseOfTheStyleSheet(t *testing.T) {
	raw, err := os.ReadFile("../../../templates/shared/static/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	lightCSS, rest, found := strings.Cut(string(raw), "@media (prefers-color-scheme: dark)")
	if !found {
		t.Fatal("tokens.css has no dark scheme")
	}
	darkCSS, _, _ := strings.Cut(rest, "\n}\n")
	for css, s := range map[string]*scheme{lightCSS: &light, darkCSS: &dark} {
		for i, name := range []string{"surface", "ground", "sunken"} {
			if want := channelsOf(cssColour(css, name)); s.grounds[i] != want {
				t.Errorf("--%s is %s in tokens.css", name, colourOf(want))
			}
		}
		if want := channelsOf(cssColour(css, "text")); s.text != want {
			t.Errorf("--text is %s in tokens.css", colourOf(want))
		}
	}
}

func cssColour(css, name string) Colour {
	_, rest, _ := strings.Cut(css, "--"+name+": #")
	value, _, _ := strings.Cut(rest, ";")
	if len(value) == 3 {
		value = strings.Repeat(value[:1], 2) + strings.Repeat(value[1:2], 2) + strings.Repeat(value[2:], 2)
	}
	return Colour(value)
}

func TestParseColour(t *testing.T) {
	for text, want := range map[string]Colour{"#1F5F5B": "1f5f5b", "1f5f5b": "1f5f5b", "#000000": "000000"} {
		if got, err := ParseColour(text); err != nil || got != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "#", "#fff", "red", "#1f5f5", "#1f5f5b0", "#1f5f5g", "##1f5f5b", "#1f5f5b;}*{",
		"１f5f5b"} {
		if got, err := ParseColour(text); err == nil {
			t.Errorf("%q is read as %s", text, got)
		}
	}
}

func TestCSS(t *testing.T) {
	const want = ":root{--accent:#1f5f5b;--fill:#1f5f5b;--accent-strong:#194c49;--on-accent:#ffffff;--tint:#e4eceb}\n" +
		"@media (prefers-color-scheme:dark)" +
		"{:root{--accent:#36a49d;--fill:#36a49d;--accent-strong:#5eb6b1;--on-accent:#0e1514;--tint:#1c312f}}\n" +
		".button.primary:not(.rows *){background:var(--fill);border-color:var(--accent)}\n" +
		".button.primary:not(.rows *):hover{background:var(--accent-strong)}\n"
	if got := Colour("1f5f5b").CSS(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
