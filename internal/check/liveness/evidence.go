package liveness

import (
	"context"
	"slices"

	"agegate/internal/check/vision"
)

// minLikeness separates the same person from another, see likeness. Over 250
// faces (UTKFace) turned by 24 degrees or raised by 18 with depth from their
// landmarks, a face and itself give at least 0.79 in 99 of 100 cases; of 5,000
// pairs of different people 99 in 100 give at most 0.60. Level faces resemble
// themselves by 0.95 and more under slightly other light, so less is allowed.
// With lids drawn over their eyes, 1 of 100 of 195 faces gives less than 0.74;
// a finger held before them 0.62 to 0.67.
const (
	minLikeness      = 0.66 // of a prompted frame, or one under way
	minLevelLikeness = 0.78 // of a frame that decides
	minShutLikeness  = 0.72 // of one on which the eyes look shut
)

// Demand is what a decision needs in addition to the challenge: numbers of good
// frames and of glimpses, the minimum median of each passive score, and the
// maximum median of raster.
type Demand struct {
	Frames     int
	Glimpses   int // of the head on its way to a turn or a raised head, or back
	real, live float64
	raster     float64
}

// Of 864 good still pictures of people (UTKFace), 0.5 % score under 0.23 real
// and 0.20 live, 5 % under 0.34 and 0.50: the scores are weak, so the limits
// of Usual only catch the plain cases. The raster of 150 of them, compressed
// hard or twice and enlarged, was over 2.45 in 10 % and over 2.67 in 1 %; that
// of simulated screens 2.2 to 5.0, of simulated people 1.4 to 2.2. Without head
// turns, Assisted asks for more.
//
// A capture has four to six movements from one pose to the next. Nearly all of
// a person's are seen under way; of still pictures shown in turn, at most one is.
var (
	Usual    = Demand{Frames: 5, Glimpses: 2, real: 0.2, live: 0.1, raster: 2.8}
	Assisted = Demand{Frames: 12, real: 0.3, live: 0.15, raster: 2.4}
)

// Evidence collects what the counting frames of one capture show about the
// person.
type Evidence struct {
	first      *vision.Features // of the frame that every other face is compared with
	stranger   bool             // a frame that counts showed another person
	glimpses   int              // of this person under way
	real, live []float64
	raster     []float64
	blink      blink
}

// Collect takes a frame that decides and returns its features.
func (e *Evidence) Collect(ctx context.Context, analyzer vision.Analyzer, o *vision.Observation) (*vision.Features, error) {
	if err := analyzer.Score(ctx, o); err != nil {
		return nil, err
	}
	f, err := analyzer.Features(ctx, o)
	if err != nil {
		return nil, err
	}
	e.real, e.live, e.raster = append(e.real, o.Real), append(e.live, o.Live), append(e.raster, o.Raster)
	least := minLevelLikeness
	if e.blink.add(o.Eyes) {
		least = minShutLikeness
	}
	if e.first == nil {
		e.first = f
	}
	e.stranger = e.stranger || likeness(e.first, f) < least
	return f, nil
}

// Glance takes a frame of the moving head, or nil for none. A covered face
// counts for nothing. A blurred face, as moving heads often are in small
// frames, does not count as a stranger if it is not recognized.
func (e *Evidence) Glance(ctx context.Context, analyzer vision.Analyzer, o *vision.Observation) error {
	if o == nil || o.Guidance == vision.GuidanceCovered {
		return nil
	}
	f, err := analyzer.Features(ctx, o)
	if err != nil {
		return err
	}
	switch {
	case e.Matches(f):
		e.glimpses++
	case o.Guidance != vision.GuidanceBlurred:
		e.stranger = true
	}
	return nil
}

// Matches reports whether the features of a prompted frame, or of one under
// way, are those of the person of the first frame.
func (e *Evidence) Matches(f *vision.Features) bool { return likeness(e.first, f) >= minLikeness }

// Glimpses returns how often this person was seen during a movement to a turn
// or a raised head, or back.
func (e *Evidence) Glimpses() int { return e.glimpses }

// Blinked reports whether the eyes were seen to shut and to open again.
func (e *Evidence) Blinked() bool { return e.blink.seen }

// IsLive reports whether one live face was seen all the time.
func (e *Evidence) IsLive(d Demand) bool {
	return !e.stranger && Median(e.raster) <= d.raster && Median(e.real) >= d.real && Median(e.live) >= d.live
}

// Median returns the median of values, which must not be empty.
func Median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
