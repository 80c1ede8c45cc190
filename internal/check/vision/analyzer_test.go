package vision_test

import (
	"errors"
	"image"
	"image/color"
	"image/draw"
	"math"
	"math/rand/v2"
	"testing"

	xdraw "golang.org/x/image/draw"

	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
	"agegate/internal/check/vision/visiontest"
)

// TestDoubtful: grey and soft pictures are distinguished from clear ones in any light
// that a camera balances.
func TestDoubtful(t *testing.T) {
	face, centre := visiontest.Face(t), [3]int{320, 240, 300}
	rows := []struct {
		name  string
		frame image.Image
		want  bool
	}{
		{"a face", visiontest.Scene(face, centre), false},
		{"a dim face", visiontest.Scene(shade(face, func(v float64) float64 { return 0.5 * v }), centre), false},
		{"a grey face", visiontest.Scene(grey(face), centre), true},
		{"a face of few pixels", visiontest.Scene(shrink(face, 72), centre), true},
		{"nobody", visiontest.Scene(face), false},
	}
	analyzer := vision.NewAnalyzer(visiontest.Pool(t))
	for _, row := range rows {
		o, err := analyzer.Analyze(t.Context(), visiontest.JPEG(t, row.frame))
		if err != nil {
			t.Fatal(err)
		}
		if o.Doubtful() != row.want {
			t.Errorf("%s: %v, want %v (guidance %s, colour %.1f, sharpness %.4f)", row.name, o.Doubtful(), row.want, o.Guidance,
				o.Colour, o.Sharpness)
		}
	}
}

// mosaic reduces a picture to the given number of squares across.
func mosaic(face image.Image, squares int) image.Image {
	small, large := image.NewRGBA(image.Rect(0, 0, squares, squares)), image.NewRGBA(face.Bounds())
	xdraw.CatmullRom.Scale(small, small.Rect, face, face.Bounds(), xdraw.Src, nil)
	xdraw.NearestNeighbor.Scale(large, large.Rect, small, small.Rect, xdraw.Src, nil)
	return large
}

// beside draws another picture into a scene.
func beside(scene, other image.Image, at image.Point) image.Image {
	out := image.NewRGBA(scene.Bounds())
	draw.Draw(out, out.Rect, scene, scene.Bounds().Min, draw.Src)
	draw.Draw(out, other.Bounds().Add(at), other, other.Bounds().Min, draw.Src)
	return out
}

func TestGuidance(t *testing.T) {
	face := visiontest.Face(t)
	light := func(add, gain float64) image.Image {
		return shade(face, func(v float64) float64 { return add + gain*v })
	}
	centre := [3]int{320, 240, 300}
	rows := []struct {
		name  string
		frame image.Image
		want  vision.Guidance
	}{
		{"a face", visiontest.Scene(face, centre), vision.GuidanceOK},
		{"the sample as it is", face, vision.GuidanceOK},
		{"tilted head", rotate(visiontest.Scene(face, centre), 20), vision.GuidanceOK},
		{"nobody", visiontest.Scene(face), vision.GuidanceNoFace},
		{"two people", visiontest.Scene(face, [3]int{160, 240, 300}, [3]int{480, 240, 300}), vision.GuidanceSeveralFaces},
		{"a poster far behind", visiontest.Scene(face, [3]int{320, 240, 400}, [3]int{580, 80, 110}), vision.GuidanceOK},
		{"a picture in squares that looks like a face from afar",
			beside(visiontest.Scene(face, [3]int{180, 240, 300}), mosaic(face, 16), image.Pt(362, 122)), vision.GuidanceOK},
		{"far away", visiontest.Scene(face, [3]int{320, 240, 110}), vision.GuidanceTooFar},
		{"too close", visiontest.Scene(face, [3]int{320, 240, 640}), vision.GuidanceTooClose},
		{"at the edge", visiontest.Scene(face, [3]int{110, 240, 200}), vision.GuidanceOffCenter},
		{"dark", visiontest.Scene(light(0, 0.2), centre), vision.GuidanceTooDark},
		{"glaring", visiontest.Scene(light(190, 0.3), centre), vision.GuidanceTooBright},
		{"blurred", visiontest.Scene(shrink(face, 40), centre), vision.GuidanceBlurred},
		{"masked", visiontest.Scene(paint(face, image.Rect(60, 140, 200, 245), color.RGBA{200, 220, 240, 255}), centre),
			vision.GuidanceCovered},
		{"masked in black", visiontest.Scene(paint(face, image.Rect(60, 140, 200, 245), color.Gray{20}), centre),
			vision.GuidanceCovered},
		{"overexposed", visiontest.Scene(light(-250, 3.2), centre), vision.GuidanceTooBright},
		{"dim and grainy", grainy(visiontest.Scene(light(0, 0.5), centre), 24), vision.GuidanceTooDark},
		{"sunglasses", visiontest.Scene(paint(face, image.Rect(58, 78, 190, 114), color.Gray{20}), centre),
			vision.GuidanceCovered},
		{"grey camera", visiontest.Scene(grey(face), centre), vision.GuidanceOK},
		{"head on its side", rotate(visiontest.Scene(face, centre), 50), vision.GuidanceTurnedAway},
	}
	analyzer := vision.NewAnalyzer(visiontest.Pool(t))
	for _, row := range rows {
		o, err := analyzer.Analyze(t.Context(), visiontest.JPEG(t, row.frame))
		if err != nil {
			t.Fatal(err)
		}
		if o.Guidance != row.want {
			t.Errorf("%s: guidance %s, want %s (scale %.2f, surface %.3f, presence %.2f, eye light %.2f, pose %.0f, score %.2f)",
				row.name, o.Guidance, row.want, o.Scale, o.Surface, o.Presence, o.EyeLight, o.Pose, o.Face.Score)
		}
	}
}

// TestSampleFace fixes the pipeline's results for the sample face at any size and
// tilt: an adult in their twenties, facing the camera, live.
func TestSampleFace(t *testing.T) {
	analyzer, face := vision.NewAnalyzer(visiontest.Pool(t)), visiontest.Face(t)
	for _, side := range []int{200, 300, 400} {
		for _, tilt := range []float64{-20, 0, 20} {
			frame := rotate(visiontest.Scene(face, [3]int{320, 240, side}), tilt)
			o, err := analyzer.Analyze(t.Context(), visiontest.JPEG(t, frame))
			if err != nil || o.Guidance != vision.GuidanceOK {
				t.Fatalf("side %d tilt %v: %v, %v", side, tilt, o, err)
			}
			f, err := analyzer.Views(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if years := mean(f.Whole.Distribution); math.Abs(years-27.5) > 2.5 {
				t.Errorf("side %d tilt %v: %.1f years, want 27.5 ± 2.5", side, tilt, years)
			}
			if math.Abs(o.Pose.Yaw) > 8 || math.Abs(o.Pose.Pitch) > 10 || math.Abs(o.Pose.Roll-tilt) > 6 {
				t.Errorf("side %d tilt %v: pose %+.1f", side, tilt, o.Pose)
			}
			if err := analyzer.Score(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			if o.Real < 0.8 || o.Live < 0.15 {
				t.Errorf("side %d tilt %v: real %.2f, live %.2f", side, tilt, o.Real, o.Live)
			}
		}
	}
}

// mean is the mean age of a distribution, in years.
func mean(distribution [inference.AgeBins]float32) (years float64) {
	for age, p := range distribution {
		years += float64(age) * float64(p)
	}
	return years
}

// TestMirror: a mirrored face is turned and tilted the other way, and looks up
// equally far.
func TestMirror(t *testing.T) {
	analyzer := vision.NewAnalyzer(visiontest.Pool(t))
	scene := rotate(visiontest.Scene(visiontest.Face(t), [3]int{300, 240, 320}), 12)
	look := func(img image.Image) *vision.Observation {
		o, err := analyzer.Analyze(t.Context(), visiontest.JPEG(t, img))
		if err != nil || o.Guidance != vision.GuidanceOK {
			t.Fatal(o, err)
		}
		return o
	}
	straight, mirrored := look(scene), look(mirror(scene))
	p, m := straight.Pose, mirrored.Pose
	if math.Abs(p.Yaw+m.Yaw) > 4 || math.Abs(p.Pitch-m.Pitch) > 4 || math.Abs(p.Roll+m.Roll) > 4 {
		t.Errorf("pose %+.1f, mirrored %+.1f", p, m)
	}
	if math.Abs(straight.Face.X+mirrored.Face.X-640) > 8 ||
		math.Abs(straight.Landmarks[1].X+mirrored.Landmarks[1].X-640) > 8 {
		t.Errorf("face at %.0f, mirrored at %.0f; nose at %.0f and %.0f", straight.Face.X, mirrored.Face.X,
			straight.Landmarks[1].X, mirrored.Landmarks[1].X)
	}
}

func TestUnreadableImages(t *testing.T) {
	good := visiontest.FaceJPEG(t)
	analyzer := vision.NewAnalyzer(visiontest.Pool(t))
	rows := []struct {
		name string
		jpeg []byte
	}{
		{"nothing", nil},
		{"text", []byte("GET / HTTP/1.1\r\n\r\n")},
		{"cut short", good[:len(good)/3]},
		{"one pixel wide header only", good[:20]},
	}
	for _, row := range rows {
		o, err := analyzer.Analyze(t.Context(), row.jpeg)
		if err != nil || o.Guidance != vision.GuidanceBadImage {
			t.Errorf("%s: %v, %v, want guidance bad_image", row.name, o, err)
		}
	}
	large := visiontest.JPEG(t, image.NewGray(image.Rect(0, 0, 1001, 1000)))
	if _, err := analyzer.Analyze(t.Context(), large); !errors.Is(err, vision.ErrFrameTooLarge) {
		t.Errorf("1.001 megapixels: %v, want ErrFrameTooLarge", err)
	}
	for _, size := range []image.Point{{1, 1}, {1, 1000}, {1600, 625}} {
		o, err := analyzer.Analyze(t.Context(), visiontest.JPEG(t, image.NewGray(image.Rectangle{Max: size})))
		if err != nil || o.Guidance != vision.GuidanceNoFace {
			t.Errorf("blank %v: %v, %v, want guidance no_face", size, o, err)
		}
	}
}

func shade(img image.Image, f func(float64) float64) image.Image {
	out := image.NewRGBA(img.Bounds())
	level := func(v uint32) uint8 { return uint8(max(0, min(255, f(float64(v>>8))))) }
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			r, g, b, _ := img.At(x, y).RGBA()
			out.SetRGBA(x, y, color.RGBA{level(r), level(g), level(b), 255})
		}
	}
	return out
}

// grainy adds a camera's noise, normally distributed.
func grainy(img image.Image, deviation float64) image.Image {
	random := rand.New(rand.NewPCG(1, 1))
	return shade(img, func(v float64) float64 { return v + deviation*random.NormFloat64() })
}

// paint covers a rectangle of the picture.
func paint(img image.Image, r image.Rectangle, c color.Color) image.Image {
	out := image.NewRGBA(img.Bounds())
	draw.Draw(out, out.Bounds(), img, image.Point{}, draw.Src)
	draw.Draw(out, r, image.NewUniform(c), image.Point{}, draw.Src)
	return out
}

func grey(img image.Image) image.Image {
	out := image.NewGray(img.Bounds())
	draw.Draw(out, out.Bounds(), img, image.Point{}, draw.Src)
	return out
}

func mirror(img image.Image) image.Image {
	out := image.NewRGBA(img.Bounds())
	width := float64(img.Bounds().Dx())
	xdraw.NearestNeighbor.Transform(out, [6]float64{-1, 0, width, 0, 1, 0}, img, img.Bounds(), xdraw.Src, nil)
	return out
}

func shrink(img image.Image, side int) image.Image {
	out := image.NewRGBA(image.Rect(0, 0, side, side))
	xdraw.CatmullRom.Scale(out, out.Bounds(), img, img.Bounds(), xdraw.Src, nil)
	return out
}

// rotate turns a picture clockwise about its centre.
func rotate(img image.Image, degrees float64) image.Image {
	out := image.NewRGBA(img.Bounds())
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	x, y := float64(img.Bounds().Dx())/2, float64(img.Bounds().Dy())/2
	turn := [6]float64{cos, -sin, x - cos*x + sin*y, sin, cos, y - sin*x - cos*y}
	xdraw.BiLinear.Transform(out, turn, img, img.Bounds(), xdraw.Src, nil)
	return out
}

// TestFront: in eight bits the front sees the same face as the age model, and
// Describe sees what Features sees.
func TestFront(t *testing.T) {
	analyzer, face := vision.NewAnalyzer(visiontest.Pool(t)), visiontest.Face(t)
	o, err := analyzer.Analyze(t.Context(), visiontest.JPEG(t, visiontest.Scene(face, [3]int{320, 240, 400})))
	if err != nil {
		t.Fatal(err)
	}
	f, err := analyzer.Features(t.Context(), o)
	if err != nil || f.Tuned == nil {
		t.Fatal(f, err)
	}
	described, err := analyzer.Describe(t.Context(), o)
	if err != nil || described.Whole != f.Whole || described.Tuned != nil {
		t.Errorf("described differently than with an age: %v", err)
	}
	views, err := analyzer.Views(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var dot, a, b float64
	for i, x := range f.Whole.Descriptor {
		y := views.Whole.Descriptor[i]
		dot, a, b = dot+float64(x*y), a+float64(x*x), b+float64(y*y)
	}
	if alike := dot / math.Sqrt(a*b); alike < 0.99 {
		t.Errorf("the front's descriptor is %.4f alike", alike)
	}
}
