package brand

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"
	"time"

	"agegate/internal/rules/turn/turntest"
)

func picture(width, height int) image.Image {
	p := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range p.Pix {
		p.Pix[i] = byte(i * 7)
	}
	p.Set(0, 0, color.NRGBA{A: 0})
	return p
}

func encoded(t testing.TB, encode func(*bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asPNG(t testing.TB, p image.Image) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, p) })
}

// tinyWebP is a lossless picture of one pixel.
const tinyWebP = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="

// declares returns a PNG whose header gives another size than its data.
func declares(t testing.TB, width, height uint32) []byte {
	raw := asPNG(t, picture(1, 1))
	binary.BigEndian.PutUint32(raw[16:], width)
	binary.BigEndian.PutUint32(raw[20:], height)
	binary.BigEndian.PutUint32(raw[29:], crc32.ChecksumIEEE(raw[12:29]))
	return raw
}

func TestLogoIsMadeSmallAndPNG(t *testing.T) {
	webp, err := base64.StdEncoding.DecodeString(tinyWebP)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		upload        []byte
		width, height int
	}{
		"small":    {asPNG(t, picture(40, 30)), 40, 30},
		"wide":     {asPNG(t, picture(960, 60)), 480, 30},
		"high":     {asPNG(t, picture(60, 240)), 30, 120},
		"thin":     {asPNG(t, picture(2000, 1)), 480, 1},
		"one":      {asPNG(t, picture(1, 1)), 1, 1},
		"jpeg":     {encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, picture(100, 100), nil) }), 100, 100},
		"webp":     {webp, 1, 1},
		"trailing": {append(asPNG(t, picture(4, 4)), "<script>alert(1)</script>"...), 4, 4},
	} {
		logo, err := Logo(tt.upload)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := png.Decode(bytes.NewReader(logo))
		if err != nil || got.Bounds() != image.Rect(0, 0, tt.width, tt.height) {
			t.Errorf("%s: %v, %v", name, got.Bounds(), err)
		}
		if bytes.Contains(logo, []byte("script")) {
			t.Errorf("%s: what was no picture came through", name)
		}
	}
}

// Transparent pixels stay transparent, and a picture that fits is not changed.
func TestLogoKeepsPixels(t *testing.T) {
	want := picture(30, 20)
	logo, err := Logo(asPNG(t, want))
	if err != nil {
		t.Fatal(err)
	}
	got, err := png.Decode(bytes.NewReader(logo))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, a := got.At(0, 0).RGBA(); a != 0 {
		t.Error("a transparent corner is no longer transparent")
	}
	// An almost transparent pixel may change its colour by a rounding error.
	for _, at := range []image.Point{{9, 3}, {20, 10}} {
		g, w := got.At(at.X, at.Y).(color.NRGBA), want.At(at.X, at.Y).(color.NRGBA)
		if g.A != w.A || w.A > 100 && (near(g.R, w.R) || near(g.G, w.G) || near(g.B, w.B)) {
			t.Errorf("%v: %v became %v", at, w, g)
		}
	}
}

func near(a, b byte) bool { return max(a, b)-min(a, b) > 3 }

func TestLogoRefuses(t *testing.T) {
	for name, upload := range map[string][]byte{
		"nothing":     nil,
		"text":        []byte("no picture"),
		"svg":         []byte(`<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>`),
		"gif":         encoded(t, func(b *bytes.Buffer) error { return gif.Encode(b, picture(4, 4), nil) }),
		"cut short":   asPNG(t, picture(40, 40))[:60],
		"too heavy":   make([]byte, MaxLogoBytes+1),
		"enormous":    declares(t, 1<<30, 1<<30),
		"long":        declares(t, 1<<22+1, 1),
		"many pixels": declares(t, 4096, 1025),
	} {
		if logo, err := Logo(upload); err == nil {
			t.Errorf("%s: accepted as %d bytes", name, len(logo))
		}
	}
}

// FuzzLogo: every upload results in an error or a small PNG.
func FuzzLogo(f *testing.F) {
	f.Add(asPNG(f, picture(8, 8)))
	f.Add(encoded(f, func(b *bytes.Buffer) error { return jpeg.Encode(b, picture(8, 8), nil) }))
	webp, err := base64.StdEncoding.DecodeString(tinyWebP)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(webp)
	f.Add(declares(f, 1<<30, 1<<30))
	f.Fuzz(func(t *testing.T, upload []byte) {
		logo, err := Logo(upload)
		if err != nil {
			return
		}
		size, err := png.DecodeConfig(bytes.NewReader(logo))
		if err != nil || size.Width > maxWidth || size.Height > maxHeight {
			t.Fatalf("%+v, %v", size, err)
		}
	})
}

// progressive returns a grey JPEG of 2,000 by 2,000 pixels with the given number
// of scans. Each scan of 21 bytes says that nothing changes.
func progressive(scans int) []byte {
	b := bytes.NewBuffer([]byte{0xff, 0xd8, 0xff, 0xdb, 0, 67, 0}) // quantization table 0
	b.Write(bytes.Repeat([]byte{1}, 64))
	// progressive frame
	b.Write([]byte{0xff, 0xc2, 0, 11, 8, 2000 >> 8, 2000 & 0xff, 2000 >> 8, 2000 & 0xff, 1, 1, 0x11, 0})
	b.Write([]byte{0xff, 0xc4, 0, 20, 0x10, 1}) // a code that means: end of 16,384 blocks
	b.Write(make([]byte, 15))
	b.WriteByte(0xe0)
	for range scans {
		b.Write([]byte{0xff, 0xda, 0, 8, 1, 1, 0, 1, 63, 0})
		b.Write(make([]byte, 11))
	}
	b.Write([]byte{0xff, 0xd9})
	return b.Bytes()
}

// TestLogoOfManyScans: a progressive JPEG is read, and one with too many scans is
// refused before the first is decoded.
func TestLogoOfManyScans(t *testing.T) {
	for scans, want := range map[int]error{10: nil, maxScans: nil, maxScans + 1: ErrLogoFormat, 12_000: ErrLogoFormat} {
		const limit = 5 * time.Second // decoding 12,000 scans took 20 s
		turntest.Within(t, limit, fmt.Sprint(scans, " scans"), func() {
			if _, err := Logo(progressive(scans)); !errors.Is(err, want) || (err == nil) != (want == nil) {
				t.Errorf("%d scans: %v, want %v", scans, err, want)
			}
		})
	}
}
