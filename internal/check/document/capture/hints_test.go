package capture

import (
	"image"
	"image/color"
	"image/draw"
	"testing"
)

// cropped removes rows from the lower end of a picture.
func cropped(picture func() image.Image, rows int) func() image.Image {
	return func() image.Image {
		img := picture().(*image.Gray)
		return img.SubImage(image.Rect(0, 0, img.Rect.Dx(), img.Rect.Dy()-rows))
	}
}

// TestHints: each picture leads to its hint.
func TestHints(t *testing.T) {
	plain := func(v uint8) func() image.Image {
		return func() image.Image {
			img := image.NewGray(image.Rect(0, 0, 640, 480))
			draw.Draw(img, img.Rect, image.NewUniform(color.Gray{v}), image.Point{}, draw.Src)
			return img
		}
	}
	for _, row := range []struct {
		name    string
		picture func() image.Image
		want    Step
	}{
		{"at night", plain(20), Step{Find, Dark}},
		{"into a lamp", plain(255), Step{Find, Glare}},
		{"a wall", plain(128), Step{Find, Blurred}},
		{"a visa", specimen(t, "mrva.jpg"), Step{Find, OtherDocument}},
		{"lines that leave the picture", cropped(specimen(t, "td3.jpg"), 118), Step{Find, Further}},
		{"a bright spot on the lines", covered(t, specimen(t, "td1.jpg"), 0.45, 0.62, 255), Step{Find, ZoneGlare}},
		{"a finger on the lines", covered(t, specimen(t, "td1.jpg"), 0.45, 0.62, 90), Step{Find, ZoneCovered}},
		{"nothing at all", func() image.Image { return image.NewGray(image.Rectangle{}) }, Step{Find, ShowZone}},
		{"a dot", func() image.Image { return image.NewGray(image.Rect(0, 0, 1, 1)) }, Step{Find, Dark}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := open(t, faceless{}).Frame(t.Context(), row.picture())
			if err != nil || got != row.want {
				t.Errorf("got %+v, %v, want %+v", got, err, row.want)
			}
		})
	}
}
