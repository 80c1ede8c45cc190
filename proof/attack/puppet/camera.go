package puppet

import (
	"bytes"
	"image"
	"image/jpeg"
	"math/rand/v2"
)

// Camera turns pictures into JPEG frames like a real camera: no two frames are
// equal.
type Camera struct {
	Noise   float64 // standard deviation of a pixel, in levels
	Gain    float64 // exposure; 1 does not change the picture
	Quality int     // of the JPEG, 1 to 100

	random *rand.Rand
	normal []float32 // normally distributed values; each frame uses them from a random index on
}

// NewCamera returns a camera with the noise of a webcam indoors.
func NewCamera(random *rand.Rand) *Camera {
	c := &Camera{Noise: 2.5, Gain: 1, Quality: 85, random: random, normal: make([]float32, 1<<16)}
	for i := range c.normal {
		c.normal[i] = float32(random.NormFloat64())
	}
	return c
}

// Shoot returns the frame as the camera sees it; it changes the picture.
func (c *Camera) Shoot(frame *image.RGBA) ([]byte, error) {
	at := c.random.IntN(len(c.normal))
	stride := 1 + 2*c.random.IntN(1<<10)
	for i := 0; i < len(frame.Pix); i += 4 {
		noise := float32(c.Noise) * c.normal[at&(len(c.normal)-1)]
		at += stride
		for k := range 3 {
			v := float32(frame.Pix[i+k])*float32(c.Gain) + noise
			frame.Pix[i+k] = uint8(min(max(v, 0), 255) + 0.5)
		}
	}
	var out bytes.Buffer
	err := jpeg.Encode(&out, frame, &jpeg.Options{Quality: c.Quality})
	return out.Bytes(), err
}
