package accuracy

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"path/filepath"
	"testing"
)

// exif returns an APP1 segment whose orientation tag follows another tag.
func exif(order binary.AppendByteOrder, orientation uint16) []byte {
	tiff := []byte("MM\x00*")
	if order.String() == "LittleEndian" {
		tiff = []byte("II*\x00")
	}
	tiff = order.AppendUint32(tiff, 8)
	tiff = order.AppendUint16(tiff, 2)
	for _, entry := range [][2]uint16{{0x0100, 640}, {0x0112, orientation}} {
		tiff = order.AppendUint16(tiff, entry[0])
		tiff = order.AppendUint16(tiff, 3) // SHORT
		tiff = order.AppendUint32(tiff, 1)
		tiff = order.AppendUint16(tiff, entry[1])
		tiff = order.AppendUint16(tiff, 0)
	}
	tiff = order.AppendUint32(tiff, 0)
	body := append([]byte("Exif\x00\x00"), tiff...)
	return append(binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(body)+2)), body...)
}

// stored maps a pixel of the upright picture to its place in the picture that a
// camera in each orientation stores. The comments are EXIF's: where row 0 and
// column 0 of the stored picture are in the upright one.
var stored = map[uint16]func(x, y, w, h int) (u, v int){
	1: func(x, y, _, _ int) (int, int) { return x, y },         // top, left
	2: func(x, y, w, _ int) (int, int) { return w - 1 - x, y }, // top, right
	3: func(x, y, w, h int) (int, int) { return w - 1 - x, h - 1 - y },
	4: func(x, y, _, h int) (int, int) { return x, h - 1 - y },
	5: func(x, y, _, _ int) (int, int) { return y, x },         // row 0 at the left, column 0 at the top
	6: func(x, y, w, _ int) (int, int) { return y, w - 1 - x }, // right, top
	7: func(x, y, w, h int) (int, int) { return h - 1 - y, w - 1 - x },
	8: func(x, y, _, h int) (int, int) { return h - 1 - y, x }, // left, bottom
}

// TestOpenShotTurnsUpright stores a picture with a bright left upper corner in
// every orientation and byte order, and finds the corner where it was.
func TestOpenShotTurnsUpright(t *testing.T) {
	const w, h = 64, 32
	for o, to := range stored {
		for _, order := range []binary.AppendByteOrder{binary.BigEndian, binary.LittleEndian} {
			size := image.Pt(w, h)
			if o >= 5 {
				size = image.Pt(h, w)
			}
			img := image.NewGray(image.Rectangle{Max: size})
			for y := range h {
				for x := range w {
					if x < w/4 && y < h/2 {
						u, v := to(x, y, w, h)
						img.SetGray(u, v, color.Gray{255})
					}
				}
			}
			var data bytes.Buffer
			if err := jpeg.Encode(&data, img, nil); err != nil {
				t.Fatal(err)
			}
			file := append(append(bytes.Clone(data.Bytes()[:2]), exif(order, o)...), data.Bytes()[2:]...)
			path := filepath.Join(t.TempDir(), "28.jpg")
			if err := os.WriteFile(path, file, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Options{}.open(t.Context(), nil, Picture{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			if s.img.Rect.Dx() != w || s.img.Rect.Dy() != h {
				t.Fatalf("orientation %d: %v", o, s.img.Rect)
			}
			for _, at := range []struct {
				x, y   int
				bright bool
			}{{4, 4, true}, {w - 4, 4, false}, {4, h - 4, false}, {w - 4, h - 4, false}} {
				if got := s.img.RGBAAt(at.x, at.y).R > 128; got != at.bright {
					t.Errorf("orientation %d, %v: bright at %d, %d is %v", o, order, at.x, at.y, got)
				}
			}
		}
	}
}

// FuzzOrientation: for any bytes, the answer is from 1 to 8.
func FuzzOrientation(f *testing.F) {
	whole := append([]byte{0xff, 0xd8}, exif(binary.BigEndian, 6)...)
	f.Add(whole)
	f.Add(whole[:len(whole)-14])
	f.Fuzz(func(t *testing.T, data []byte) {
		if o := orientation(data); o < 1 || o > 8 {
			t.Errorf("orientation %d", o)
		}
	})
}
