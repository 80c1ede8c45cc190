package vision

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"slices"
	"testing"

	"agegate/internal/check/inference"
)

// FuzzDecode: for any bytes, decoding and sampling do not panic, stay within the
// limits, and fail only with an error of this package.
func FuzzDecode(f *testing.F) {
	tensor := make([]float32, 3*16*16)
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := decode(data)
		if err != nil {
			if !errors.Is(err, ErrBadImage) && !errors.Is(err, ErrFrameTooLarge) {
				t.Fatalf("unexpected error %v", err)
			}
			return
		}
		if p.width*p.height > MaxPixels || max(p.width, p.height) > MaxSide {
			t.Fatalf("%d×%d was let in", p.width, p.height)
		}
		c := crop{x: float64(p.width) / 3, y: float64(p.height), side: float64(p.width + p.height), angle: 1}
		p.fill(c.part(0, 0, 1, 1, 16, 16), inference.Input{Width: 16, Height: 16, Scale: 1}, tensor)
		for _, v := range tensor {
			if !(v >= 0 && v <= 255) {
				t.Fatalf("sample %v", v)
			}
		}
	})
}

func TestDecodeRefuses(t *testing.T) {
	good := encode(t, image.NewYCbCr(image.Rect(0, 0, 16, 16), image.YCbCrSubsampleRatio420))
	scan := bytes.Index(good, []byte{0xff, markerScan})
	frame := bytes.Index(good, []byte{0xff, markerBaseline})
	names := func(luma, blue, red byte) []byte {
		out := bytes.Clone(good)
		out[frame+10], out[frame+13], out[frame+16] = luma, blue, red
		return out
	}
	sampled := func(luma, blue byte) []byte {
		out := bytes.Clone(good)
		out[frame+11], out[frame+14] = luma, blue
		return out
	}
	adobe := func(colours byte) []byte {
		segment := append([]byte{0xff, markerAdobe, 0, 14}, "Adobe\x00\x64\x00\x00\x00\x00"...)
		return slices.Concat(good[:2], append(segment, colours), good[2:])
	}
	rows := []struct {
		name string
		jpeg []byte
		want error
	}{
		{"a good one", good, nil},
		{"progressive", patched(t, good, 0xc0, 0xc2), ErrBadImage},
		{"a second scan", append(bytes.Clone(good[:len(good)-2]), good[scan:]...), ErrBadImage},
		{"a second scan behind a restart marker", hidden(good, scan, 0xd0), ErrBadImage},
		{"a second scan behind a stuffed byte", hidden(good, scan, 0x00), ErrBadImage},
		{"no scan", good[:scan], ErrBadImage},
		{"cut short", good[:len(good)-2], ErrBadImage},
		{"two frame headers", slices.Concat(good[:scan], good[frame:]), ErrBadImage},
		{"red, green and blue by name", names('R', 'G', 'B'), ErrBadImage},
		{"red, green and blue, as Adobe says", adobe(0), ErrBadImage},
		{"luma and chroma, as Adobe says", adobe(1), nil},
		{"more luma than usual", sampled(0x41, 0x11), ErrBadImage},
		{"more chroma than luma", sampled(0x11, 0x22), ErrBadImage},
		{"65,535 pixels square in the header", resized(t, good, 0xffff, 0xffff), ErrFrameTooLarge},
		{"1.001 megapixels in the header", resized(t, good, 1001, 1000), ErrFrameTooLarge},
		{"a strip in the header", resized(t, good, 1601, 30), ErrFrameTooLarge},
		{"an upright strip in the header", resized(t, good, 30, 1601), ErrFrameTooLarge},
		{"no pixels in the header", resized(t, good, 0, 0), ErrBadImage},
		{"over 1 MiB", append(bytes.Clone(good), make([]byte, MaxFrameBytes)...), ErrFrameTooLarge},
	}
	for _, row := range rows {
		if _, err := decode(row.jpeg); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
	}
}

// TestDecodePixels: the planes are those of the standard decoder, but for rounding,
// also where the last blocks are not full.
func TestDecodePixels(t *testing.T) {
	for _, size := range []image.Point{{64, 48}, {37, 29}, {1, 1}} {
		colour, grey := image.NewRGBA(image.Rectangle{Max: size}), image.NewGray(image.Rectangle{Max: size})
		for y := range size.Y {
			for x := range size.X {
				shade := uint8(128 + 60*math.Sin(float64(x)/7) + 60*math.Cos(float64(x+y)/5))
				colour.Set(x, y, color.RGBA{shade, uint8(4 * x), uint8(5 * y), 255})
				grey.SetGray(x, y, color.Gray{shade})
			}
		}
		for _, img := range []image.Image{colour, grey} {
			data := encode(t, img)
			want, err := jpeg.Decode(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			got, err := DecodeFrame(data, MaxPixels, MaxSide)
			if err != nil || got.Bounds() != want.Bounds() {
				t.Fatalf("%v %T: %v, %v", size, img, got, err)
			}
			for y := range size.Y {
				for x := range size.X {
					if a, b := planes(got, x, y), planes(want, x, y); far(a, b) {
						t.Fatalf("%v %T at %d, %d: %v, want %v", size, img, x, y, a, b)
					}
				}
			}
		}
	}
}

// planes returns the values that a pixel has in the planes of a decoded picture.
func planes(img image.Image, x, y int) [3]uint8 {
	if p, ok := img.(*image.YCbCr); ok {
		c := p.YCbCrAt(x, y)
		return [3]uint8{c.Y, c.Cb, c.Cr}
	}
	return [3]uint8{img.(*image.Gray).GrayAt(x, y).Y}
}

func far(a, b [3]uint8) bool {
	for i := range a {
		if d := int(a[i]) - int(b[i]); d < -1 || d > 1 {
			return true
		}
	}
	return false
}

func encode(tb testing.TB, img image.Image) []byte {
	tb.Helper()
	if p, ok := img.(*image.YCbCr); ok {
		rgb := image.NewRGBA(p.Rect) // the encoder writes colour from RGBA
		rgb.Set(1, 1, color.White)
		img = rgb
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, img, nil); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// hidden returns a picture with two scans in what looks like one segment of a
// marker that has no length, followed by the unchanged picture. The decoder reads
// the first scans and ends there.
func hidden(good []byte, scan int, marker byte) []byte {
	length := len(good) + len(good[scan:])
	out := []byte{0xff, 0xd8, 0xff, marker, byte(length >> 8), byte(length)}
	out = append(out, good[2:len(good)-2]...)
	out = append(out, good[scan:]...)
	out = append(out, make([]byte, length-2-(len(out)-6))...)
	return append(out, good[2:]...)
}

// patched returns the picture with another marker in place of the first one
// of the given kind.
func patched(tb testing.TB, data []byte, marker, by byte) []byte {
	tb.Helper()
	out := bytes.Clone(data)
	at := bytes.Index(out, []byte{0xff, marker})
	if at < 0 {
		tb.Fatalf("no marker %x", marker)
	}
	out[at+1] = by
	return out
}

// resized returns the picture with another size in its frame header.
func resized(tb testing.TB, data []byte, width, height int) []byte {
	tb.Helper()
	out := bytes.Clone(data)
	at := bytes.Index(out, []byte{0xff, 0xc0})
	if at < 0 {
		tb.Fatal("no frame header")
	}
	copy(out[at+5:], []byte{byte(height >> 8), byte(height), byte(width >> 8), byte(width)})
	return out
}
