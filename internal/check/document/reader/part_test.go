package reader_test

import (
	"image"
	"strings"
	"testing"

	"agegate/internal/check/document/reader"
	"agegate/internal/check/document/reader/readertest"
)

// TestPart: of a zone with a covered part, only what is not covered is read, and
// each of its characters is right.
func TestPart(t *testing.T) {
	r := open(t)
	for _, name := range []string{"td1.jpg", "td2.jpg", "td3.jpg"} {
		grey := reader.Grey(specimen(t, name))
		whole := r.Read(grey, today)
		if !whole.Valid || whole.Part == nil || whole.Part.Format != whole.Format {
			t.Fatalf("%s: %+v", name, whole.Part)
		}
		length := float64(whole.Format.Length())
		for _, part := range [][2]float64{{0.15, 0.35}, {0.4, 0.6}, {0.75, 0.9}} {
			got := r.Read(readertest.Cover(grey, whole.Corners, part[0], part[1], 120), today)
			if got.Valid || got.Part == nil || got.Part.Format != whole.Format {
				t.Errorf("%s, %v: valid %v, %+v", name, part, got.Valid, got.Part)
				continue
			}
			hidden := 0
			for l, line := range got.Part.Lines {
				for i := range line {
					at := float64(i) / length
					switch covered := at > part[0]+1/length && at < part[1]-2/length; {
					case line[i] == reader.Unseen:
						hidden++
					case covered:
						t.Errorf("%s, %v: character %d of line %d is covered, but read", name, part, i, l)
					case line[i] != whole.Lines[l][i]:
						t.Errorf("%s, %v: %q in place of %q", name, part, line[i], whole.Lines[l][i])
					}
				}
			}
			if len(got.Part.Hidden) == 0 || len(got.Part.Hidden) > hidden ||
				float64(hidden) > (part[1]-part[0])*length*float64(len(whole.Lines))+8 {
				t.Errorf("%s, %v: %d characters are unseen, %d hidden", name, part, hidden, len(got.Part.Hidden))
			}
		}
	}
}

// TestPartOutside: a zone that begins outside the picture is placed there, and not
// moved into the picture.
func TestPartOutside(t *testing.T) {
	r, grey := open(t), reader.Grey(specimen(t, "td1.jpg"))
	whole := r.Read(grey, today)
	cut := image.Rect(int(whole.Corners[0].X+0.15*(whole.Corners[1].X-whole.Corners[0].X)), 0, grey.Rect.Dx(),
		grey.Rect.Dy())
	got := r.Read(reader.Grey(grey.SubImage(cut)), today)
	if got.Valid || got.Part == nil || got.Part.Corners[0].X > 0 {
		t.Fatalf("valid %v, %+v", got.Valid, got.Part)
	}
	for l, line := range got.Part.Lines {
		if !strings.HasPrefix(line, "???") || line[10:] != whole.Lines[l][10:] {
			t.Errorf("line %d is shifted, or not read", l)
		}
	}
}

// TestVisaHasNoPart: of a visa nothing is read but the whole, because no check digit
// covers several of its fields.
func TestVisaHasNoPart(t *testing.T) {
	for _, name := range []string{"mrva.jpg", "mrvb.jpg"} {
		if got := open(t).Read(reader.Grey(specimen(t, name)), today); !got.Valid || got.Part != nil {
			t.Errorf("%s: valid %v, %+v", name, got.Valid, got.Part)
		}
	}
}
