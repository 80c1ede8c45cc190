package vision

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
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
	scan := bytes.Index(good, []byte{0xff, 0xda})
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
