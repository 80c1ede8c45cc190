package age

import (
	"context"
	"slices"
)

// minLikeness separates the same person from another, see likeness. Over 250
// faces (UTKFace) turned by 24 degrees or raised by 18 with depth from their
// landmarks, a face and itself give at least 0.79 in 99 of 100 cases; of 5,000
// pairs of different people 99 in 100 give at most 0.60. Level faces resemble
// themselves by 0.95 and more under slightly other light, so less is allowed.
// With lids drawn over their eyes, 1 of 100 of 195 faces gives less than 0.74;
// a finger held before them 0.62 to 0.67.
const (
	minLikeness      = 0.70 // of a prompted frame, or one under way
	minLevelLikeness = 0.78 // of a frame that decides
	minShutLikeness  = 0.72 // of one on which the eyes look shut
)

// minRelief separates heads from pictures, by prompt, see relief. Over the
// same faces, turns gave 0.030 to 0.049 and raised heads 0.016 to 0.045, where
// prints turned by 34 degrees gave 0.005 to 0.014. A prompt is fulfilled from
// about two thirds of those turns on. Coming closer shows no relief.
var minRelief = map[Prompt]float64{PromptTurnLeft: 0.018, PromptTurnRight: 0.018, PromptLookUp: 0.009}

// evidence is what the good frames of one capture say.
type evidence struct {
	first      *Features // of the frame that every other face is compared with
	stranger   bool      // a frame that counts showed another person
	glimpses   int       // of this person under way
	ages       []float64
	real, live []float64
	raster     []float64
	blink      blink
}

// collect takes a good frame: its passive scores always, its age while fewer
// than limit frames decide.
func (e *evidence) collect(ctx context.Context, engine *Engine, o *Observation, limit int) error {
	e.real, e.live, e.raster = append(e.real, o.Real), append(e.live, o.Live), append(e.raster, o.Raster)
	least := minLevelLikeness
	if e.blink.add(o.Eyes) {
		least = minShutLikeness
	}
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
	e.stranger = e.stranger || likeness(e.first, f) < least
	e.ages = append(e.ages, engine.head.Age(f))
	return nil
}

// glance takes a frame of the head under way, if there is one. A blurred or
// covered face says nothing.
func (e *evidence) glance(ctx context.Context, engine *Engine, o *Observation) error {
	if o == nil || o.Guidance == GuidanceBlurred || o.Guidance == GuidanceCovered {
		return nil
	}
	f, err := engine.analyzer.Features(ctx, o)
	if err != nil {
		return err
	}
	if likeness(e.first, f) >= minLikeness {
		e.glimpses++
	} else {
		e.stranger = true
	}
	return nil
}

// isLive reports whether one live face was seen all the time.
func (e *evidence) isLive(d demand) bool {
	return !e.stranger && median(e.raster) <= d.raster && median(e.real) >= d.real && median(e.live) >= d.live
}

// median of a list that is not empty.
func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
