package vision

import "agegate/internal/check/inference"

// Features are the age model's view of a face: of the whole upright crop, which
// an age is computed from and faces of one capture are compared by, and of its
// inner part, from x 0.15 to 0.85 and y 0.05 to 0.85, which leaves out hair and
// collar. Analyzer's methods say which of them they fill.
type Features struct {
	Whole, Inner View
	// Tuned is the fine-tuned tail's output for the whole crop, nil without
	// one: a probability for each whole age.
	Tuned *[inference.AgeBins]float32
}

// View is the age model's output for one crop.
type View struct {
	Distribution [inference.AgeBins]float32        // probability of each whole age
	Descriptor   [inference.DescriptorSize]float32 // points the same way for the same face
}

// features runs the age model on the whole crop, and the tail where there is one.
func features(w inference.Worker, p *picture, c crop) (*Features, error) {
	f := new(Features)
	if err := f.Whole.read(w, p, c, 0, 0, 1, 1); err != nil {
		return nil, err
	}
	return f, f.tune(w)
}

// views runs the age model on both crops.
func views(w inference.Worker, p *picture, c crop) (*Features, error) {
	f := new(Features)
	if err := f.Whole.read(w, p, c, 0, 0, 1, 1); err != nil {
		return nil, err
	}
	return f, f.Inner.read(w, p, c, 0.15, 0.05, 0.85, 0.85)
}

func (v *View) read(w inference.Worker, p *picture, c crop, left, top, right, bottom float64) error {
	in, tensor := w.Input(inference.Ager)
	p.fill(c.part(left, top, right, bottom, in.Width, in.Height), in, tensor)
	if err := w.Run(inference.Ager); err != nil {
		return err
	}
	copy(v.Distribution[:], w.Output(inference.Ager, "distribution"))
	copy(v.Descriptor[:], w.Output(inference.Ager, "descriptor"))
	return nil
}

// tune runs the tail, where there is one, on the map that the age model has
// just made of the whole crop.
func (f *Features) tune(w inference.Worker) error {
	if !w.Has(inference.Tail) {
		return nil
	}
	_, tensor := w.Input(inference.Tail)
	copy(tensor, w.Output(inference.Ager, "map"))
	if err := w.Run(inference.Tail); err != nil {
		return err
	}
	f.Tuned = new([inference.AgeBins]float32)
	copy(f.Tuned[:], w.Output(inference.Tail, "distribution"))
	return nil
}

// WideSide is the side of the square that WideCrop returns, in samples: that of
// the age model's input and an eighth of it more on each side.
const WideSide = 280

// WideCrop returns the upright crop that an observation's age is estimated from,
// with some of what surrounds it, as planes of red, green and blue, and its
// place in the picture. The training of a tail reads it. An observation without
// a face gives nil.
func WideCrop(o *Observation) ([]byte, Place) {
	if o.picture == nil || o.crop.side == 0 {
		return nil, Place{}
	}
	values := make([]float32, 3*WideSide*WideSide)
	format := inference.Input{Width: WideSide, Height: WideSide, Scale: 1}
	o.picture.fill(o.crop.part(-0.125, -0.125, 1.125, 1.125, WideSide, WideSide), format, values)
	pixels := make([]byte, len(values))
	for i, v := range values {
		pixels[i] = uint8(v + 0.5)
	}
	return pixels, Place{o.crop.x, o.crop.y, o.crop.side, o.crop.angle}
}

// Place is where a crop lies in its picture: its middle and its side in pixels,
// and the angle by which it is turned, in radians, clockwise as seen.
type Place struct{ X, Y, Side, Angle float64 }
