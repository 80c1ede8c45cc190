package vision

import (
	"context"
	"slices"

	"agegate/internal/check/inference"
)

// Features are the age model's view of the whole upright crop, which an age is
// computed from, and of its inner part, from x 0.15 to 0.85 and y 0.05 to 0.85,
// which leaves out hair and collar: faces are compared by both.
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

// features runs the age model on both crops.
func features(w inference.Worker, p *picture, c crop) (*Features, error) {
	f := new(Features)
	if err := f.Whole.read(w, p, c, 0, 0, 1, 1); err != nil {
		return nil, err
	}
	if err := f.tune(w); err != nil {
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

// FeatureMap returns what a tail goes on from: the age model's feature map of
// an observation's whole crop, inference.MapSize values from 0 to 6, channel
// by channel. The training of a tail reads it.
func FeatureMap(ctx context.Context, models inference.Models, o *Observation) ([]float32, error) {
	w, err := models.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer w.Release()
	if err := new(View).read(w, o.picture, o.crop, 0, 0, 1, 1); err != nil {
		return nil, err
	}
	return slices.Clone(w.Output(inference.Ager, "map")), nil
}
