package puppet

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"math"

	"agegate/internal/age"
	"agegate/internal/age/agetest"
)

// Sample returns the sample face as a head, and as the head of another person.
func Sample(ctx context.Context, analyzer age.Analyzer) (person, stranger *Head, err error) {
	data, err := agetest.SampleJPEG()
	if err != nil {
		return nil, nil, err
	}
	picture, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, nil, err
	}
	if person, err = NewHead(ctx, analyzer, data, picture); err != nil {
		return nil, nil, err
	}
	other := disguise(picture)
	var out bytes.Buffer
	if err = jpeg.Encode(&out, other, &jpeg.Options{Quality: 95}); err != nil {
		return nil, nil, err
	}
	stranger, err = NewHead(ctx, analyzer, out.Bytes(), other)
	return person, stranger, err
}

// disguise makes another person of a face: mirrored, broader below, longer
// above, with a larger nose and darker, warmer colours.
func disguise(img image.Image) *image.RGBA {
	source := image.NewRGBA(image.Rect(0, 0, img.Bounds().Dx(), img.Bounds().Dy()))
	draw.Draw(source, source.Bounds(), img, img.Bounds().Min, draw.Src)
	size := source.Bounds().Size()
	out := image.NewRGBA(source.Bounds())
	for y := range size.Y {
		for x := range size.X {
			u, v := 1-float64(x)/float64(size.X), float64(y)/float64(size.Y)
			jaw := 1 + 0.22*smooth((v-0.45)/0.4) - 0.08*smooth((0.4-v)/0.3)
			u = 0.5 + (u-0.5)/jaw
			v += 0.035 * math.Sin(2*math.Pi*v)
			bulge := math.Exp(-((u-0.47)*(u-0.47) + (v-0.56)*(v-0.56)) / 0.006)
			u, v = u-0.25*bulge*(u-0.47), v-0.25*bulge*(v-0.56)
			r, g, b := sample(source, u*float64(size.X), v*float64(size.Y))
			out.SetRGBA(x, y, color.RGBA{dye(r, 0.85, 1.1), dye(g, 0.68, 1.25), dye(b, 0.55, 1.35), 255})
		}
	}
	return out
}

func dye(v, gain, gamma float64) uint8 { return uint8(255*gain*math.Pow(v/255, gamma) + 0.5) }
