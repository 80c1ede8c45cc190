package vision

import (
	"testing"

	"agegate/internal/check/inference"
)

// Stages returns the steps of one frame for the benchmarks; each function
// performs its step once.
func Stages(tb testing.TB, w inference.Worker, jpeg []byte) map[string]func() error {
	p, err := decode(jpeg)
	if err != nil {
		tb.Fatal(err)
	}
	faces, err := detect(w, p)
	if err != nil || len(faces) != 1 {
		tb.Fatal(faces, err)
	}
	c := faces[0].crop()
	in, tensor := w.Input(inference.Ager)
	scored := func(m inference.Model, output string) func() error {
		return func() error { _, err := score(w, p, c, m, output); return err }
	}
	return map[string]func() error{
		"decode":    func() error { _, err := decode(jpeg); return err },
		"sample224": func() error { p.fill(c.part(0, 0, 1, 1, in.Width, in.Height), in, tensor); return nil },
		"detect":    func() error { _, err := detect(w, p); return err },
		"surface":   func() error { surface(p, c); return nil },
		"raster":    func() error { p.raster(c); return nil },
		"mesh":      func() error { _, _, _, err := landmarks(w, p, c); return err },
		"antispoof": scored(inference.Antispoof, "real"),
		"liveness":  scored(inference.Liveness, "live"),
		"age":       func() error { _, err := features(w, &Observation{picture: p, crop: c}); return err },
		"second":    func() error { _, err := second(w, p, c); return err },
	}
}

// Due reports whether a face is detected again after it was followed for a number of
// frames from a pose to another.
func Due(from, to Pose, followed int) bool {
	return (&Observation{Pose: to, anchor: &anchor{pose: from}, followed: followed}).due()
}
