package age

import (
	"context"
	"slices"
)

// Limits of the evidence.
const (
	// minRelief separates heads from pictures, see relief.
	minRelief = 0.012
	// minLikeness separates the same person from another, see likeness.
	minLikeness = 0.5
)

// evidence is what the good frames of one capture say.
type evidence struct {
	first      *Features // of the frame that every other face is compared with
	stranger   bool      // a deciding frame showed another person
	ages       []float64
	real, live []float64
}

// collect takes a good frame: its passive scores always, its age while fewer
// than limit frames decide.
func (e *evidence) collect(ctx context.Context, engine *Engine, o *Observation, limit int) error {
	e.real, e.live = append(e.real, o.Real), append(e.live, o.Live)
	if len(e.ages) >= limit {
		return nil
	}
	f, err := engine.analyzer.Features(ctx, o)
	if err != nil {
		return err
	}
	if e.first == nil {
		e.first = f
	}
	e.stranger = e.stranger || !e.same(f)
	e.ages = append(e.ages, engine.head.Age(f))
	return nil
}

// same reports whether the face is the one the capture began with.
func (e *evidence) same(f *Features) bool { return likeness(e.first, f) >= minLikeness }

// isLive reports whether one live face was seen all the time.
func (e *evidence) isLive(d demand) bool {
	return !e.stranger && median(e.real) >= d.real && median(e.live) >= d.live
}

// median of a list that is not empty.
func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
