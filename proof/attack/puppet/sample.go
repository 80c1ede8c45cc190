package puppet

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"math"

	"agegate/internal/check/vision"
	"agegate/internal/check/vision/visiontest"
)

// Sample returns the sample face as a head, and as the head of another person.
func Sample(ctx context.Context, analyzer vision.Analyzer) (person, stranger *Head, err error) {
	data, err := visiontest.SampleJPEG()
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
	other := Disguise(picture)
	var out bytes.Buffer
	if err = jpeg.Encode(&out, other, &jpeg.Options{Quality: 95}); err != nil {
		return nil, nil, err
	}
	stranger, err = NewHead(ctx, analyzer, out.Bytes(), other)
	return person, stranger, err
}

// Disguise makes another person out of a face: mirrored, broader below, longer
// above, with a larger nose, closer eyes, a beard, dark hair and darker skin.
func Disguise(img image.Image) *image.RGBA {
	source := image.NewRGBA(image.Rect(0, 0, img.Bounds().Dx(), img.Bounds().Dy()))
	draw.Draw(source, source.Bounds(), img, img.Bounds().Min, draw.Src)
	size := source.Bounds().Size()
	out := image.NewRGBA(source.Bounds())
	for y := range size.Y {
		for x := range size.X {
			u, v := 1-float64(x)/float64(size.X), float64(y)/float64(size.Y)
			beard := beardAt(u, v)
			jaw := 1 + 0.22*smooth((v-0.45)/0.4) - 0.08*smooth((0.4-v)/0.3)
			u = 0.5 + (u-0.5)/jaw
			v += 0.035 * math.Sin(2*math.Pi*v)
			bulge := math.Exp(-((u-0.47)*(u-0.47) + (v-0.56)*(v-0.56)) / 0.006)
			u, v = u-0.3*bulge*(u-0.47), v-0.3*bulge*(v-0.56)
			r, g, b := sample(source, u*float64(size.X), v*float64(size.Y))
			dark := 1 - 0.75*beard
			out.SetRGBA(x, y, color.RGBA{dye(r, 0.72*dark, 1.2), dye(g, 0.52*dark, 1.35), dye(b, 0.4*dark, 1.45), 255})
		}
	}
	return out
}

// beardAt returns how much beard or dark hair covers the place.
func beardAt(u, v float64) float64 {
	chin := smooth((v-0.66)/0.08) * smooth((0.34-math.Abs(u-0.5))/0.06) * smooth((0.96-v)/0.05)
	mouth := math.Exp(-((u-0.5)*(u-0.5)/0.006 + (v-0.72)*(v-0.72)/0.0012))
	hair := smooth((0.2 - v) / 0.06)
	return max(chin*(1-mouth), hair)
}

func dye(v, gain, gamma float64) uint8 { return uint8(255*gain*math.Pow(v/255, gamma) + 0.5) }
