package vision

import "agegate/internal/inference"

// Features are what an age is computed from: the age model's view of the
// whole upright crop and of its inner part, from x 0.15 to 0.85 and y 0.05 to
// 0.85, which leaves out hair and collar.
type Features struct {
	Whole, Inner View
}

// View is the age model's output for one crop.
type View struct {
	Distribution [inference.AgeBins]float32        // probability of each whole age
	Descriptor   [inference.DescriptorSize]float32 // points the same way for the same face
}

// features runs the age model on both crops.
func features(w inference.Worker, p *picture, c crop) (*Features, error) {
	f := new(Features)
	if err := f.Whole.read(w, p, c, 0, 0, 1, 1); err != nil {
		return nil, err
	}
	if err := f.Inner.read(w, p, c, 0.15, 0.05, 0.85, 0.85); err != nil {
		return nil, err
	}
	return f, nil
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
