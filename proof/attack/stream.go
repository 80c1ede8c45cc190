package attack

import (
	"bytes"
	"image"
	"image/draw"
	"image/jpeg"
	"math"
	"math/rand/v2"

	"agegate/internal/check/age"
	"agegate/internal/check/vision"
	"agegate/proof/attack/puppet"
)

// still sends one picture repeatedly, with new noise in every frame.
func still(noise float64) func(*cast, uint64) *take {
	return func(c *cast, seed uint64) *take {
		k := newTake(c, seed)
		var picture *image.RGBA
		k.camera.Noise, k.whole = noise, true
		k.gap *= slower
		show := k.show
		k.show = func(frame *image.RGBA, _ float64) {
			if picture == nil {
				show(frame, 0)
				picture = image.NewRGBA(frame.Rect)
				draw.Draw(picture, picture.Rect, frame, image.Point{}, draw.Src)
			}
			draw.Draw(frame, frame.Rect, picture, image.Point{}, draw.Src)
		}
		return k
	}
}

// loop follows the prompts for a second and a half and then repeats the frames it
// has sent, unchanged or encoded again with the brightness changed by one level.
func loop(change int) func(*cast, uint64) *take {
	return func(c *cast, seed uint64) *take {
		k := newTake(c, seed)
		var sent [][]byte
		length := int(1.5 / k.gap)
		k.shoot = func(n int, frame *image.RGBA) ([]byte, error) {
			if n < length {
				data, err := k.camera.Shoot(frame)
				sent = append(sent, data)
				return data, err
			}
			again := sent[n%length]
			if change == 0 {
				return again, nil
			}
			return brighten(again, change*(1+n/length%2))
		}
		return k
	}
}

// brighten encodes a picture again, with every pixel brighter by the given
// levels.
func brighten(data []byte, levels int) ([]byte, error) {
	img, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	frame := image.NewRGBA(img.Bounds())
	draw.Draw(frame, frame.Rect, img, image.Point{}, draw.Src)
	for i := range frame.Pix {
		frame.Pix[i] = uint8(min(int(frame.Pix[i])+levels, 255)) //nolint:gosec // within a byte
	}
	var out bytes.Buffer
	err = jpeg.Encode(&out, frame, &jpeg.Options{Quality: 92})
	return out.Bytes(), err
}

// foreign sends frames of another capture after some of its own.
func foreign(c *cast, seed uint64) *take {
	k := newTake(c, seed)
	from := uint32(k.random.IntN(8)) //nolint:gosec // small
	k.send = func(f *age.Frame) {
		if f.Seq >= from {
			f.Nonce[k.random.IntN(len(f.Nonce))] ^= 1 << k.random.IntN(8)
		}
	}
	return k
}

// fabricated sends messages out of order, twice, or larger than allowed.
func fabricated(c *cast, seed uint64) *take {
	k := newTake(c, seed)
	from, how := uint32(1+k.random.IntN(8)), k.random.IntN(4) //nolint:gosec // small
	k.send = func(f *age.Frame) {
		if f.Seq < from {
			return
		}
		switch how {
		case 0:
			f.Seq++
		case 1:
			f.Seq--
		case 2:
			f.Seq = k.random.Uint32()
		default:
			f.JPEG = make([]byte, vision.MaxFrameBytes+1)
		}
	}
	return k
}

// display is a screen in front of a camera: its frame, its pixel raster relative
// to the sensor's, its flicker and its lower contrast.
type display struct {
	across, down, slant, phase, depth, flicker float64
	bezel                                      int
}

func newDisplay(random *rand.Rand) *display {
	between := func(low, high float64) float64 { return low + (high-low)*random.Float64() }
	return &display{
		across: between(0.15, 0.45), down: between(0.1, 0.4), slant: between(-0.05, 0.05), phase: between(0, 6),
		depth: between(0.04, 0.14), flicker: between(0.02, 0.08), bezel: 12 + random.IntN(24),
	}
}

// light changes the frame to look like a photographed screen.
func (d *display) light(frame *image.RGBA, t float64) {
	size := frame.Rect.Size()
	pulse := 1 + d.flicker*math.Sin(2*math.Pi*7.3*t+d.phase)
	for y := range size.Y {
		for x := range size.X {
			at := frame.PixOffset(x, y)
			if x < d.bezel || y < d.bezel || x >= size.X-d.bezel || y >= size.Y-d.bezel {
				copy(frame.Pix[at:], []uint8{18, 18, 20})
				continue
			}
			for i := range 3 {
				wave := math.Sin(2*math.Pi*(d.across*float64(x)+d.slant*float64(y))+float64(i)*2.1) +
					math.Sin(2*math.Pi*d.down*float64(y)+d.phase+float64(i))
				v := (20 + 0.86*float64(frame.Pix[at+i])) * pulse * (1 + d.depth*wave/2)
				frame.Pix[at+i] = uint8(min(max(v, 0), 255))
			}
		}
	}
}

// beyond are presentations that a challenge of movements cannot detect. They are
// measured to find out how often they pass.
var beyond = []species{
	{name: "screen, an obeying face live on it", stage: screen(true)},
	{name: "injected recording, in the mode without head turns",
		stage: func(c *cast, seed uint64) *take { return sitting(newTake(c, seed)) }},
	{name: "injected stream of an obeying puppet", stage: func(c *cast, seed uint64) *take {
		k := newTake(c, seed)
		k.show = func(frame *image.RGBA, t float64) {
			c.person.Backdrop(frame)
			c.person.Draw(frame, puppet.Solid, k.actor.Pose(t))
		}
		return k
	}},
}
