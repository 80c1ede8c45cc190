package attack

import (
	"bytes"
	"context"
	"image"
	"image/jpeg"
	"math/rand/v2"

	"agegate/proof/attack/puppet"
)

// artist draws a face at random.
type artist func(*rand.Rand) *image.RGBA

// head returns the head of a drawing in which the analyzer finds a face.
func (c *cast) head(draw artist, seed uint64) *puppet.Head {
	random := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // every run must be the same
	for {
		picture, data := draw(random), new(bytes.Buffer)
		if err := jpeg.Encode(data, picture, &jpeg.Options{Quality: 95}); err != nil {
			panic(err)
		}
		if h, err := puppet.NewHead(context.Background(), c.analyzer, data.Bytes(), picture); err == nil {
			return h
		}
	}
}

// obeying shows a drawn head that follows the prompts as a person does, with the
// noise of a camera.
func obeying(draw artist) func(*cast, uint64) *take {
	return func(c *cast, seed uint64) *take {
		k, head := newTake(c, seed), c.head(draw, seed)
		k.show = func(frame *image.RGBA, t float64) {
			head.Backdrop(frame)
			head.Draw(frame, puppet.Solid, k.pose(t))
		}
		return k
	}
}

// offScreen films such a head off a screen whose pixels are so fine that they
// hardly show.
func offScreen(draw artist) func(*cast, uint64) *take {
	return func(c *cast, seed uint64) *take {
		k := obeying(draw)(c, seed)
		display, show := newDisplay(k.random), k.show
		display.depth, display.bezel = display.depth/8, 0
		k.show = func(frame *image.RGBA, t float64) {
			show(frame, t)
			display.light(frame, t)
		}
		return k
	}
}

// dim is a person in two thirds of the light, with the noise that it brings.
func dim(c *cast, seed uint64) *take {
	k := newTake(c, seed)
	k.camera.Gain, k.camera.Noise = 0.65*k.camera.Gain, 1.5*k.camera.Noise
	return k
}

// lamplit is a person in the light of a warm lamp that the camera does not balance.
func lamplit(c *cast, seed uint64) *take {
	k := newTake(c, seed)
	show, blue := k.show, 0.65+0.2*k.random.Float64()
	k.show = func(frame *image.RGBA, t float64) {
		show(frame, t)
		for i := 2; i < len(frame.Pix); i += 4 {
			frame.Pix[i] = uint8(blue * float64(frame.Pix[i]))
		}
	}
	return k
}
