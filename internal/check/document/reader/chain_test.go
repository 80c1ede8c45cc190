package reader

import (
	"image"
	"math"
	"math/rand/v2"
	"testing"
)

// TestFindBlobs draws strokes on paper that gets darker towards one side.
func TestFindBlobs(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 200, 100))
	for i := range img.Pix {
		img.Pix[i] = uint8(220 - i%200/2)
	}
	ink := func(r image.Rectangle) {
		for y := r.Min.Y; y < r.Max.Y; y++ {
			for x := r.Min.X; x < r.Max.X; x++ {
				img.Pix[y*200+x] /= 3
			}
		}
	}
	ink(image.Rect(20, 20, 24, 36))   // a stroke
	ink(image.Rect(100, 40, 112, 44)) // an L of two
	ink(image.Rect(108, 44, 112, 56)) //
	ink(image.Rect(60, 60, 62, 62))   // a speck
	ink(image.Rect(130, 5, 133, 95))  // too long
	blobs := findBlobs(img, 12)
	if len(blobs) != 2 {
		t.Fatalf("found %v", blobs)
	}
	for i, want := range []blob{{x: 22, y: 28, size: 16}, {x: 106, y: 48, size: 16}} {
		if got := blobs[i]; math.Hypot(got.x-want.x, got.y-want.y) > 1.5 || math.Abs(got.size-want.size) > 2 {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// TestChains: a row of blobs, slightly bent, with some missing and others
// scattered around, is found in any direction, and its curve passes through its
// blobs. One row in a hundred may be wrong, if a scattered blob lies in the place
// of a missing one.
func TestChains(t *testing.T) {
	const rows, count = 300, 36
	var astray int
	for seed := range uint64(rows) {
		random := rand.New(rand.NewPCG(seed, 0))
		pitch, angle := 10+16*random.Float64(), 2*math.Pi*random.Float64()
		bend := (1.2*random.Float64() - 0.6) * pitch
		at := func(n float64) (x, y float64) {
			t := (n - count/2) / (count / 2)
			along, off := (n-count/2)*pitch, bend*(1-t*t)
			return 640 + along*math.Cos(angle) - off*math.Sin(angle), 480 + along*math.Sin(angle) + off*math.Cos(angle)
		}
		var blobs []blob
		for n := range count {
			if n%9 == 4 {
				continue
			}
			x, y := at(float64(n))
			blobs = append(blobs, blob{x: x + 0.04*pitch*random.NormFloat64(), y: y + 0.04*pitch*random.NormFloat64(),
				size: pitch * (0.8 + 0.25*random.Float64()), area: 100 + 100*random.Float64()})
		}
		for range 60 {
			blobs = append(blobs, blob{x: 1280 * random.Float64(), y: 960 * random.Float64(),
				size: pitch * (0.5 + random.Float64())})
		}
		found := newField(blobs).chains(4)
		if len(found) == 0 || found[0].high-found[0].low < count-10 {
			t.Fatalf("row %d: found %d chains", seed, len(found))
		}
		if off := distance(found[0], at, count) / pitch; off > 0.15 {
			t.Logf("row %d: characters are %.2f pitches off", seed, off)
			astray++
		}
	}
	if astray > rows/100 {
		t.Errorf("%d of %d rows are off", astray, rows)
	}
}

// distance returns the mean distance of a line's places from the nearest of the
// places 0 to count.
func distance(l *line, at func(n float64) (x, y float64), count float64) (mean float64) {
	for n := l.low; n <= l.high; n++ {
		x, y := l.at(float64(n))
		nearest := math.Inf(1)
		for m := -8.0; m < count+8; m++ {
			wx, wy := at(m)
			nearest = min(nearest, math.Hypot(x-wx, y-wy))
		}
		mean += nearest / float64(l.high-l.low+1)
	}
	return mean
}

// TestCurves: moving or turning a line moves or turns its places.
func TestCurves(t *testing.T) {
	l := &line{x: quadratic{100, 15, 0.02}, y: quadratic{50, -3, 0.05}, tall: 0.9, slant: 0.1, shift: 0.05, low: 0,
		high: 40}
	t2 := l.turned()
	moved := l.renumbered(7)
	lower := l.below(2.5)
	for n := 0.0; n <= 40; n += 4 {
		p, q, r := l.place(n, 0), t2.place(-n, 0), moved.place(n+7, 0)
		if math.Abs(p.X-q.X) > 1e-6 || math.Abs(p.AlongX+q.AlongX) > 1e-6 || math.Abs(p.DownY+q.DownY) > 1e-6 {
			t.Errorf("turned: %v and %v", p, q)
		}
		if math.Abs(p.X-r.X) > 1e-6 || math.Abs(p.Y-r.Y) > 1e-6 {
			t.Errorf("renumbered: %v and %v", p, r)
		}
		below := lower.place(n, 0)
		if d := math.Hypot(below.X-p.X, below.Y-p.Y) / l.pitch(n); math.Abs(d-2.5) > 0.2 {
			t.Errorf("below: %.2f pitches", d)
		}
	}
}
