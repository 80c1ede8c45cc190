package vision

import (
	"math"

	"agegate/internal/check/inference"
)

// alignedTo lists the landmarks by which a face is aligned for the matcher, with their
// places in a square around the middle of the face. The places are the mean shape to
// which dlib aligns faces. The landmarks are the corners of the left and the right eye,
// the outer corner first, and the base of the nose.
var alignedTo = []struct {
	landmark int
	x, y     float64
}{
	{leftEyeOuter, 0.8595674595992, 0.2134981538014},
	{362, 0.6460604764104, 0.2289674387677},
	{rightEyeOuter, 0.1205750620789, 0.2137274526848},
	{133, 0.3340850613712, 0.2290642403242},
	{2, 0.4901123135679, 0.6277975316475},
}

// alignedBorder is how much the matcher's input extends beyond that square on each
// side, as a share of the square's side.
const alignedBorder = 0.25

// aligned returns the crop in which the landmarks lie nearest to the mean shape, by the
// sum of squares. A turn with a change of size is a multiplication by a complex number.
// The fit is therefore a linear regression with a complex slope.
func aligned(landmarks []Point) crop {
	count := complex(float64(len(alignedTo)), 0)
	var shape, face complex128 // the means
	for _, at := range alignedTo {
		shape += complex(at.x, at.y) / count
		face += complex(landmarks[at.landmark].X, landmarks[at.landmark].Y) / count
	}
	var product complex128
	var square float64
	for _, at := range alignedTo {
		from, to := complex(at.x, at.y)-shape, complex(landmarks[at.landmark].X, landmarks[at.landmark].Y)-face
		product += to * complex(real(from), -imag(from))
		square += real(from)*real(from) + imag(from)*imag(from)
	}
	slope := product / complex(square, 0)
	middle := face + slope*(complex(0.5, 0.5)-shape)
	return crop{
		x: real(middle), y: imag(middle),
		side:  math.Hypot(real(slope), imag(slope)) * (1 + 2*alignedBorder),
		angle: math.Atan2(imag(slope), real(slope)),
	}
}

// identify runs the matcher, if there is one, on the aligned face.
func (f *Features) identify(w inference.Worker, o *Observation) error {
	if !w.Has(inference.Matcher) {
		return nil
	}
	in, tensor := w.Input(inference.Matcher)
	o.picture.fill(aligned(o.Landmarks).part(0, 0, 1, 1, in.Width, in.Height), in, tensor)
	if err := w.Run(inference.Matcher); err != nil {
		return err
	}
	f.Identity = new([inference.IdentitySize]float32)
	copy(f.Identity[:], w.Output(inference.Matcher, "descriptor"))
	return nil
}
