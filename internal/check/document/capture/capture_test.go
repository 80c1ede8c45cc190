package capture

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/document/mrz"
	"agegate/internal/check/document/reader"
	"agegate/internal/check/vision"
)

var today = time.Date(2012, 1, 1, 12, 0, 0, 0, time.UTC)

// faceless is an analyzer that never sees a face.
type faceless struct{ vision.Analyzer }

func (faceless) Analyze(context.Context, []byte) (*vision.Observation, error) {
	return &vision.Observation{Guidance: vision.GuidanceNoFace}, nil
}

// broken is an analyzer whose models fail.
type broken struct{ vision.Analyzer }

var errModel = errors.New("a model failed")

func (broken) Analyze(context.Context, []byte) (*vision.Observation, error) { return nil, errModel }

func open(t *testing.T, analyzer vision.Analyzer) *Capture {
	t.Helper()
	zones, err := reader.New()
	if err != nil {
		t.Fatal(err)
	}
	now := today
	return New(zones, analyzer, func() time.Time {
		now = now.Add(400 * time.Millisecond)
		return now
	})
}

// specimen returns a function for one of the reader's pictures of a zone, in the
// lower part of a white page, with new noise each time.
func specimen(t *testing.T, name string) func() image.Image {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "reader", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	zone, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	size := zone.Bounds().Size()
	page := image.NewGray(image.Rect(0, 0, size.X+100, size.Y+700))
	draw.Draw(page, page.Rect, image.NewUniform(color.Gray{200}), image.Point{}, draw.Src)
	draw.Draw(page, image.Rect(50, 650, 50+size.X, 650+size.Y), zone, image.Point{}, draw.Src)
	n := uint32(1)
	return func() image.Image {
		out := image.NewGray(page.Rect)
		for i, v := range page.Pix {
			n = n*1664525 + 1013904223
			out.Pix[i] = uint8(min(max(int(v)+int(n>>30)-1, 0), 255))
		}
		return out
	}
}

// TestAgreement: three different frames of a card lead to the prompts to tilt; a
// repeated frame does not count.
func TestAgreement(t *testing.T) {
	c, next := open(t, faceless{}), specimen(t, "td1.jpg")
	first := next()
	for i, row := range []struct {
		picture image.Image
		want    Stage
	}{{first, Hold}, {first, Hold}, {next(), Hold}, {next(), Tilt}, {next(), Tilt}} {
		got, err := c.Frame(t.Context(), row.picture)
		if err != nil || got.Stage != row.want {
			t.Fatalf("frame %d: %+v, %v", i, got, err)
		}
		if got.Stage == Tilt != strings.HasPrefix(string(got.Hint), "raise_") {
			t.Errorf("frame %d: hint %q", i, got.Hint)
		}
		if d := c.Document(); d.Portrait != nil || d.Zone.Valid != (got.Stage == Tilt) {
			t.Errorf("frame %d: at %q the document is %+v", i, got.Stage, d)
		}
	}
}

// rastered draws a screen's raster over a picture.
func rastered(img image.Image) image.Image {
	out := img.(*image.Gray)
	for i, v := range out.Pix {
		x, y := float64(i%out.Stride), float64(i/out.Stride)
		out.Pix[i] = uint8(min(max(float64(v)+12*(math.Sin(1.9*x)+math.Sin(1.6*y)), 0), 255))
	}
	return out
}

// TestRaster: a screen is recognized by most of the first frames, not by a single one.
func TestRaster(t *testing.T) {
	for _, row := range []struct {
		screen string // which frames show a screen
		want   Stage
	}{{"x..", Tilt}, {".x.", Tilt}, {"xx.", Refused}, {"xxx", Refused}} {
		c, next := open(t, faceless{}), specimen(t, "td1.jpg")
		for i, kind := range row.screen {
			picture := next()
			if kind == 'x' {
				picture = rastered(picture)
			}
			step, err := c.Frame(t.Context(), picture)
			if last := i == len(row.screen)-1; err != nil || step.Stage != row.want && (last || step.Stage != Hold) {
				t.Errorf("%s: frame %d: %+v, %v", row.screen, i, step, err)
			}
		}
		if got := c.Reason(); (got == Screen) != (row.want == Refused) {
			t.Errorf("%s: %q", row.screen, got)
		}
	}
}

// TestVisaAmongFrames: a frame that reads as a visa, which has only about half of
// a card's check digits, neither counts nor does harm.
func TestVisaAmongFrames(t *testing.T) {
	c, card, visa := open(t, faceless{}), specimen(t, "td2.jpg"), specimen(t, "mrvb.jpg")
	for i, picture := range []image.Image{card(), visa(), card(), visa(), card()} {
		got, err := c.Frame(t.Context(), picture)
		if err != nil || got.Stage != Hold || (got.Hint == OtherDocument) != (i%2 == 1) {
			t.Fatalf("frame %d: %+v, %v", i, got, err)
		}
	}
	if most := c.zones.leading(); len(c.zones) != 1 || most.format != mrz.TD2 || most.frames != 3 {
		t.Errorf("%d zones, %v in %d frames", len(c.zones), most.format, most.frames)
	}
}

// TestNoPortrait: a passport without a portrait is refused, and later frames
// change nothing.
func TestNoPortrait(t *testing.T) {
	c, next := open(t, faceless{}), specimen(t, "td2.jpg")
	var step Step
	for n := range 2 * maxFaceless {
		var err error
		if step, err = c.Frame(t.Context(), next()); err != nil {
			t.Fatal(err)
		}
		if step.Stage == Refused && n+1 != maxFaceless {
			t.Fatalf("refused at frame %d", n+1)
		}
		if step.Stage == Refused {
			break
		}
	}
	if step.Stage != Refused || c.Reason() != NoPortrait {
		t.Fatalf("%+v, %q", step, c.Reason())
	}
	if again, err := c.Frame(t.Context(), next()); err != nil || again != step {
		t.Errorf("afterwards: %+v, %v", again, err)
	}
}

// TestStandstill: a camera that keeps showing the same frame is refused, and so
// is one that repeats earlier frames.
func TestStandstill(t *testing.T) {
	still, next := specimen(t, "td3.jpg")(), specimen(t, "td2.jpg")
	other := next()
	for _, row := range []struct {
		name    string
		picture func(n int) image.Image
		want    Reason
	}{
		{"frozen", func(int) image.Image { return still }, Frozen},
		{"loop", func(n int) image.Image { return []image.Image{still, other}[n%2] }, Repeated},
	} {
		c := open(t, faceless{})
		for n := 0; c.stage != Refused && n < 2*maxStalled; n++ {
			if _, err := c.Frame(t.Context(), row.picture(n)); err != nil {
				t.Fatal(err)
			}
		}
		if c.Reason() != row.want {
			t.Errorf("%s: %q", row.name, c.Reason())
		}
	}
}

// TestErrors: a failing model and an ended context are errors.
func TestErrors(t *testing.T) {
	c, next := open(t, broken{}), specimen(t, "td2.jpg")
	if _, err := c.Frame(t.Context(), next()); !errors.Is(err, errModel) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Frame(ctx, next()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// read returns a frame's zone with the given document number.
func read(number byte, state string) (mrz.Result, []string) {
	lines := []string{"P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", string(number) +
		"898902C36UTO7408122F1204159ZE184226B<<<<<10"}
	return mrz.Result{Format: mrz.TD3, Valid: true, IssuingState: state}, lines
}

// TestZones: one frame of another zone is forgiven, two are not; the issuing
// state needs frames that agree on it.
func TestZones(t *testing.T) {
	for _, row := range []struct {
		numbers  string
		leading  byte
		frames   int
		disagree bool
	}{
		{"LLL", 'L', 3, false},
		{"KLLL", 'L', 3, false},
		{"LKLL", 'L', 3, false},
		{"LLKLKL", 'L', 4, true},
		{"LK", 'L', 1, false},
		{"LKM", 'L', 1, false},
		{"LKMN", 'L', 1, true},
	} {
		var z zones
		for _, number := range []byte(row.numbers) {
			z.add(read(number, "UTO"))
		}
		if most := z.leading(); most.checked[0] != row.leading || most.frames != row.frames || z.disagree() != row.disagree {
			t.Errorf("%s: %c in %d frames, disagree %v", row.numbers, most.checked[0], most.frames, z.disagree())
		}
	}
	var z zones
	for _, state := range []string{"UTO", "", "FRA", "UTO"} {
		z.add(read('L', state))
	}
	if code, ok := z.leading().state(); ok {
		t.Errorf("%q of two frames", code)
	}
	z.add(read('L', "UTO"))
	if code, ok := z.leading().state(); !ok || code != "UTO" {
		t.Errorf("%q, %v", code, ok)
	}
}

// seen projects the zone of a passport, tilted by angles of its left and upper
// edge, into a frame of a phone's camera.
func seen(left, top float64) slope {
	const width, height, distance = 112.0, 9.0, 150.0
	size := image.Pt(1280, 960)
	f := focal * float64(size.X)
	sinL, cosL := math.Sincos(left * math.Pi / 180)
	sinT, cosT := math.Sincos(top * math.Pi / 180)
	at := func(x, y float64) reader.Point {
		depth := distance + x*sinL + y*sinT
		return reader.Point{X: f * x * cosL / depth, Y: f * y * cosT / depth}
	}
	return slopeOf([4]reader.Point{
		at(-width/2, -height/2), at(width/2, -height/2), at(width/2, height/2), at(-width/2, height/2),
	}, size)
}

// TestSlope: the slope is about the sine of the tilt.
func TestSlope(t *testing.T) {
	for _, row := range []struct{ left, top float64 }{{0, 0}, {15, 0}, {-15, 0}, {0, 15}, {0, -15}, {8, -12}} {
		s := seen(row.left, row.top)
		for name, pair := range map[string][2]float64{"across": {s.across, row.left}, "down": {s.down, row.top}} {
			if want := math.Sin(pair[1] * math.Pi / 180); math.Abs(pair[0]-want) > 0.02+0.1*math.Abs(want) {
				t.Errorf("%+v, %s: %.3f, want %.3f", row, name, pair[0], want)
			}
		}
	}
}

// tiltedTo returns the frame of a document that is tilted in a direction.
func tiltedTo(direction Hint, angle float64) slope {
	switch direction {
	case RaiseLeft:
		return seen(angle, 0)
	case RaiseRight:
		return seen(-angle, 0)
	case RaiseTop:
		return seen(0, angle)
	case RaiseBottom:
		return seen(0, -angle)
	}
	return seen(0, 0)
}

// ones is a source that draws the same value for ever.
type ones byte

func (o ones) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(o)
	}
	return len(p), nil
}

// TestTilting: a tilt counts if it follows the prompt and is not faster than a
// person can react; too many other tilts are refused.
func TestTilting(t *testing.T) {
	for _, row := range []struct {
		name   string
		follow func(prompt Hint) (Hint, float64)
		gap    time.Duration
		done   bool
		wrong  int
	}{
		{"as asked", func(p Hint) (Hint, float64) { return p, 15 }, 400 * time.Millisecond, true, 0},
		{"not at all", func(Hint) (Hint, float64) { return NoHint, 0 }, 400 * time.Millisecond, false, 0},
		{"a little", func(p Hint) (Hint, float64) { return p, 6 }, 400 * time.Millisecond, false, 0},
		{"as little as is seen of a raised lower edge", func(p Hint) (Hint, float64) { return p, 9 }, 400 * time.Millisecond,
			true, 0},
		{"the other way", func(p Hint) (Hint, float64) {
			return map[Hint]Hint{RaiseLeft: RaiseRight, RaiseRight: RaiseLeft, RaiseTop: RaiseBottom, RaiseBottom: RaiseTop}[p],
				20
		}, 400 * time.Millisecond, false, maxStray + 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			now := today
			tilt := tilting{random: ones(0), flat: []slope{seen(1, 0), seen(0, 0), seen(0, -1)}}
			tilt.ask(now, NoHint)
			refused := false
			for n := range 18 {
				now = now.Add(row.gap)
				direction, angle := row.follow(tilt.prompt)
				if n%3 == 2 {
					direction = NoHint // flat again
				}
				if refused = tilt.add(tiltedTo(direction, angle), now); refused || tilt.done == tilts {
					break
				}
			}
			if done := tilt.done == tilts; done != row.done || tilt.wrong != row.wrong || refused != (row.wrong > maxStray) {
				t.Errorf("done %d, wrong %d, refused %v", tilt.done, tilt.wrong, refused)
			}
		})
	}
	tilt := tilting{random: ones(0), flat: []slope{seen(0, 0)}}
	tilt.ask(today, NoHint)
	for range 5 {
		if tilt.add(tiltedTo(tilt.prompt, 15), today.Add(minReaction/2)); tilt.held > 0 {
			t.Fatal("a tilt counted that nobody could have made")
		}
	}
}
