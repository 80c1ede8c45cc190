package vision

import (
	"agegate/internal/check/inference"
)

// Features are the models' outputs for a face. Those of the age model for the whole
// upright crop serve to compute the age and to compare faces. Each method of Analyzer
// says which outputs it fills. Two faces can be compared if the same method has filled
// both, or if Features has filled one and Describe the other.
type Features struct {
	Whole View
	// Tuned is the fine-tuned tail's output for the whole crop, nil without
	// one: a probability for each whole age.
	Tuned *[inference.AgeBins]float32
	// Second is the age in years by the second age model, from Features only.
	Second float64
	// Identity is the matcher's descriptor of the aligned face, nil without one:
	// near, by Euclidean distance, for the same face.
	Identity *[inference.IdentitySize]float32
}

// View is the age model's output for one crop.
type View struct {
	// Distribution has the probability of each whole age. It is zero if a front
	// computed the descriptor.
	Distribution [inference.AgeBins]float32
	Descriptor   [inference.DescriptorSize]float32 // points in the same direction for the same face
}

// looker returns the model that first processes the faces of captures. This is
// inference.Front if it is installed, and otherwise inference.Ager.
func looker(w inference.Worker) inference.Model {
	if w.Has(inference.Front) {
		return inference.Front
	}
	return inference.Ager
}

// features runs the looker on the whole crop, the tail if there is one, and the
// second age model.
func features(w inference.Worker, o *Observation) (*Features, error) {
	f, err := described(w, o)
	if err != nil {
		return nil, err
	}
	if err := f.tune(w); err != nil {
		return nil, err
	}
	f.Second, err = second(w, o.picture, o.crop)
	return f, err
}

// secondParts are the parts of the crop for the second age model: left, top, right,
// bottom. The mean of its estimates on both parts has a smaller error than either
// estimate.
var secondParts = [][4]float64{{0.1, 0.04, 0.9, 0.84}, {0.15, 0.12, 0.85, 0.82}}

// second returns the mean of the second age model's estimates on secondParts, in
// years.
func second(w inference.Worker, p *picture, c crop) (years float64, err error) {
	in, tensor := w.Input(inference.Second)
	for _, at := range secondParts {
		p.fill(c.part(at[0], at[1], at[2], at[3], in.Width, in.Height), in, tensor)
		if err := w.Run(inference.Second); err != nil {
			return 0, err
		}
		years += float64(w.Output(inference.Second, "years")[0]) / float64(len(secondParts))
	}
	return years, nil
}

// described runs the looker on the whole crop.
func described(w inference.Worker, o *Observation) (*Features, error) {
	f := new(Features)
	return f, f.Whole.read(w, looker(w), o.picture, o.crop)
}

// views runs the age model on the whole crop, and the matcher if there is one.
func views(w inference.Worker, o *Observation) (*Features, error) {
	f := new(Features)
	if err := f.Whole.read(w, inference.Ager, o.picture, o.crop); err != nil {
		return nil, err
	}
	return f, f.identify(w, o)
}

func (v *View) read(w inference.Worker, m inference.Model, p *picture, c crop) error {
	in, tensor := w.Input(m)
	p.fill(c.part(0, 0, 1, 1, in.Width, in.Height), in, tensor)
	if err := w.Run(m); err != nil {
		return err
	}
	if m == inference.Ager {
		copy(v.Distribution[:], w.Output(m, "distribution"))
	}
	copy(v.Descriptor[:], w.Output(m, "descriptor"))
	return nil
}

// tune runs the tail, if there is one, on the map that the looker has just
// computed from the whole crop.
func (f *Features) tune(w inference.Worker) error {
	if !w.Has(inference.Tail) {
		return nil
	}
	_, tensor := w.Input(inference.Tail)
	copy(tensor, w.Output(looker(w), "map"))
	if err := w.Run(inference.Tail); err != nil {
		return err
	}
	f.Tuned = new([inference.AgeBins]float32)
	copy(f.Tuned[:], w.Output(inference.Tail, "distribution"))
	return nil
}

// Around returns the upright crop used for an observation's age with a margin around it, a share of its side, as the
// planes of red, green and blue of a square of side samples, from 0 to 255, and its place without the margin. It
// returns nil for an observation without a face.
func (o *Observation) Around(margin float64, side int) ([]float32, Place) {
	if o.picture == nil || o.crop.side == 0 {
		return nil, Place{}
	}
	values := make([]float32, 3*side*side)
	o.picture.fill(o.crop.part(-margin, -margin, 1+margin, 1+margin, side, side),
		inference.Input{Width: side, Height: side, Scale: 1}, values)
	return values, Place{o.crop.x, o.crop.y, o.crop.side, o.crop.angle}
}

// Place is where a crop lies in its picture: its middle and its side in pixels,
// and the angle by which it is turned, in radians, clockwise as seen.
type Place struct{ X, Y, Side, Angle float64 }
