package reader_test

import (
	"bytes"
	"image"
	"image/jpeg"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agegate/internal/check/document/mrz"
	"agegate/internal/check/document/reader"
	"agegate/internal/lab/picture"
)

var today = time.Date(2012, 1, 1, 12, 0, 0, 0, time.UTC)

// specimen returns one of the pictures that proof/documents renders from Doc
// 9303's examples.
func specimen(t testing.TB, name string) image.Image {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	img, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func open(t testing.TB) *reader.Reader {
	t.Helper()
	r, err := reader.New()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCardIsNoVisa: an identity card whose first letter is hard to read is not taken
// for a visa, which has no composite check.
func TestCardIsNoVisa(t *testing.T) {
	got := open(t).Read(reader.Grey(specimen(t, "td2_hard.jpg")), time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))
	if got.Valid && got.Format != mrz.TD2 {
		t.Errorf("a %v is valid", got.Format)
	}
}

func TestSpecimens(t *testing.T) {
	r := open(t)
	for name, want := range map[string]struct {
		format        mrz.Format
		birth, expiry string
	}{
		"td1.jpg":  {mrz.TD1, "1974-08-12", "2012-04-15"},
		"td2.jpg":  {mrz.TD2, "1974-08-12", "2012-04-15"},
		"td3.jpg":  {mrz.TD3, "1974-08-12", "2012-04-15"},
		"mrva.jpg": {mrz.MRVA, "1940-09-07", "1996-12-10"},
		"mrvb.jpg": {mrz.MRVB, "1940-09-07", "1996-12-10"},
	} {
		t.Run(name, func(t *testing.T) {
			img := specimen(t, name)
			got := r.Read(reader.Grey(img), today)
			if !got.Valid || got.Format != want.format || got.BirthDate.String() != want.birth ||
				got.ExpiryDate.String() != want.expiry || got.IssuingState != "UTO" {
				t.Fatalf("got %v, valid %v, %v, %v, %v", got.Format, got.Valid, got.BirthDate, got.ExpiryDate, got.Reasons)
			}
			if len(got.Lines) != want.format.Lines() || got.Sure < 0.5 || got.Sure > 1 || got.Pitch < 9 {
				t.Errorf("%d lines, sure %.2f, pitch %.1f", len(got.Lines), got.Sure, got.Pitch)
			}
			// The corners run clockwise around the zone, in the picture.
			var area float64
			for i, p := range got.Corners {
				q := got.Corners[(i+1)%4]
				area += (p.X*q.Y - q.X*p.Y) / 2
				if p.X < 0 || p.Y < 0 || p.X > float64(img.Bounds().Dx()) || p.Y > float64(img.Bounds().Dy()) {
					t.Errorf("corner %v is outside", p)
				}
			}
			if area < 1000 {
				t.Errorf("the corners enclose %.0f pixels", area)
			}
		})
	}
}

// TestTurned: a picture is read in any of its four positions, and mirrored in
// none.
func TestTurned(t *testing.T) {
	r, grey := open(t), reader.Grey(specimen(t, "td1.jpg"))
	w, h := grey.Rect.Dx(), grey.Rect.Dy()
	for name, row := range map[string]struct {
		w, h int
		from func(x, y int) (int, int)
		read bool
	}{
		"a quarter":   {h, w, func(x, y int) (int, int) { return y, h - 1 - x }, true},
		"upside down": {w, h, func(x, y int) (int, int) { return w - 1 - x, h - 1 - y }, true},
		"mirrored":    {w, h, func(x, y int) (int, int) { return w - 1 - x, y }, false},
	} {
		img := image.NewGray(image.Rect(0, 0, row.w, row.h))
		for y := range row.h {
			for x := range row.w {
				img.SetGray(x, y, grey.GrayAt(row.from(x, y)))
			}
		}
		if got := r.Read(img, today); got.Valid != row.read {
			t.Errorf("%s: valid %v, %v", name, got.Valid, got.Reasons)
		}
	}
}

// TestSizes: a picture may be much larger or smaller than a frame.
func TestSizes(t *testing.T) {
	r, grey := open(t), reader.Grey(specimen(t, "td3.jpg"))
	for _, scale := range []float64{0.7, 2, 3.1} {
		w, h := int(scale*float64(grey.Rect.Dx())), int(scale*float64(grey.Rect.Dy()))
		img := image.NewGray(image.Rect(0, 0, w, h))
		for y := range h {
			for x := range w {
				img.SetGray(x, y, grey.GrayAt(int(float64(x)/scale), int(float64(y)/scale)))
			}
		}
		if got := picture.Zone(r, img, today); !got.Valid {
			t.Errorf("scaled by %.1f: %v", scale, got.Reasons)
		}
	}
}

// TestNothing: in pictures without a zone nothing is found.
func TestNothing(t *testing.T) {
	r := open(t)
	for name, img := range map[string]image.Image{
		"empty": image.NewGray(image.Rect(0, 0, 0, 0)),
		"dot":   image.NewGray(image.Rect(0, 0, 1, 1)),
		"black": image.NewGray(image.Rect(0, 0, 640, 480)),
		"thin":  image.NewGray(image.Rect(0, 0, 5000, 1)),
	} {
		if got := picture.Zone(r, img, today); got.Finding != reader.NothingFound || got.Valid {
			t.Errorf("%s: %v", name, got.Finding)
		}
	}
}

// FuzzRead reads pictures made of any bytes.
func FuzzRead(f *testing.F) {
	r := open(f)
	f.Add(uint8(64), []byte("\x00\xff\xff\x00\x10\xf0"))
	f.Fuzz(func(t *testing.T, width uint8, pixels []byte) {
		if len(pixels) == 0 {
			return
		}
		w := 1 + 2*int(width)
		img := image.NewGray(image.Rect(0, 0, w, 120))
		for i := range img.Pix {
			img.Pix[i] = pixels[i%len(pixels)]
		}
		got := r.Read(img, today)
		if got.Valid {
			t.Error("a zone was made of noise")
		}
		for _, p := range got.Corners {
			if math.IsNaN(p.X) || math.IsNaN(p.Y) {
				t.Error("a corner is no place")
			}
		}
	})
}

// BenchmarkRead measures a frame with a readable zone, including decoding.
func BenchmarkRead(b *testing.B) {
	r := open(b)
	data, err := os.ReadFile("testdata/td3.jpg")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		img, err := jpeg.Decode(bytes.NewReader(data))
		if err != nil {
			b.Fatal(err)
		}
		if !r.Read(reader.Grey(img), today).Valid {
			b.Fatal("not read")
		}
	}
}
