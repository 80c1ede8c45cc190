package accuracy

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"

	"agegate/internal/check/age"
	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
	"agegate/internal/lab/measured"
)

// Cutoff is the estimate that few 13- to 17-year-olds may reach: the target age 18
// and the default margin.
const Cutoff = 25.0

// Read makes copies with each of these Alterations. In Fit, the copies of 13- to
// 17-year-olds with one of fittedDrawings count as collections of their own; the
// others are only reported.
var (
	fittedDrawings   = []string{"make-up"}
	reportedDrawings = []string{
		"glasses", "beard", "wrinkles", "glasses, beard and wrinkles",
		"retouched skin", "fringe", "hard side light", "dim light",
	}
)

// fittedDraws is how many copies Read makes of each 13- to 17-year-old with each of
// fittedDrawings. Their strengths are random: with a single draw of them, luck moves
// the share that reaches Cutoff by a percentage point, and so every scale.
const fittedDraws = 3

// anchors are the ages, in years, at which a scale gives the right age for the median
// reading.
var anchors = []int{5, 10, 15, 20, 25, 30, 40, 50, 60}

// fewestYoung is how many 13- to 17-year-olds a collection (or its altered copies)
// must have to count in Fit.
const fewestYoung = 30

// Reading holds what both age models read in one picture, before any scale.
type Reading struct {
	Picture
	Altered      string // name of the Alteration, or "as it is"
	Draw         int    // which of the copies with this Alteration, from 0
	Tail, Second float64
}

// Fitted holds the scales of both age models, and how many 13- to 17-year-olds of each
// collection and of its altered copies reach Cutoff with them.
type Fitted struct {
	Tail, Second inference.Scale
	Young        []Minors
}

// Minors is the share of the 13- to 17-year-olds of one collection that reach
// Cutoff. Where Read makes several copies of each, all of them count, so the interval
// of Pass is too narrow.
type Minors struct {
	Collection string `json:"collection"`
	Altered    string `json:"altered"`
	Draws      int    `json:"draws"` // copies of each
	Pass       Share  `json:"pass"`
}

func (m Minors) fitted() bool {
	return m.Altered == Unaltered || slices.Contains(fittedDrawings, m.Altered)
}

// Fitted reports whether Fit looks at the reading's Alteration.
func (r Reading) Fitted() bool { return Minors{Altered: r.Altered}.fitted() }

// Read returns the readings of the pictures that are held out, and of all 13- to
// 17-year-olds. Of these, and of those held out from 25 to 35, it also returns the
// readings of copies with each of the drawings: fittedDraws of each 13- to 17-year-old
// with each of fittedDrawings, else one. Pictures that the page would refuse are left
// out.
func Read(ctx context.Context, analyzer vision.Analyzer, set []Picture, o Options) ([]Reading, error) {
	set = slices.DeleteFunc(slices.Clone(set), func(p Picture) bool { return !p.Held && !young(p.Age) })
	var all []Reading
	var lock sync.Mutex
	err := Each(ctx, len(set), o, func(ctx context.Context, i int) error {
		p := set[i]
		s, err := o.open(ctx, analyzer, p)
		if err != nil {
			return err
		}
		copies := func(altered string) int { return draws(altered, p.Age) }
		return lookAltered(ctx, analyzer, s, i, copies, func(altered string, draw int, f *vision.Features) {
			lock.Lock()
			defer lock.Unlock()
			all = append(all, Reading{p, altered, draw, age.Tuned{}.Estimate(f).Years, f.Second})
		})
	})
	slices.SortFunc(all, func(a, b Reading) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Altered, b.Altered), cmp.Compare(a.Draw, b.Draw))
	})
	return all, err
}

func young(years int) bool { return years >= 13 && years <= 17 }

// draws is how many copies with an Alteration Read makes of a picture.
func draws(altered string, years int) int {
	fitted := slices.Contains(fittedDrawings, altered)
	switch {
	case fitted && young(years):
		return fittedDraws
	case (fitted || slices.Contains(reportedDrawings, altered)) && (young(years) || years >= 25 && years <= 35):
		return 1
	}
	return 0
}

// TrainingOf returns for each collection of a list of pictures whether those that are not
// held out are of it, or of another part of it: one whose name is the same up to a comma.
func TrainingOf(set []Picture) map[string]string {
	found, parts := map[string]string{}, map[string]bool{}
	part := func(p Picture) string { name, _, _ := strings.Cut(p.Collection, ","); return name }
	for _, p := range set {
		if !p.Held {
			found[p.Collection], parts[part(p)] = measured.Trained, true
		}
	}
	for _, p := range set {
		if found[p.Collection] == "" && parts[part(p)] {
			found[p.Collection] = measured.OtherPart
		}
	}
	return found
}

// Years is the joined estimate with the given scales, as a capture shows it.
func (f Fitted) Years(r Reading) float64 {
	return rounded(age.Join(f.Tail.Years(r.Tail), f.Second.Years(r.Second)))
}

// Fit fits the scales of both models. At each anchor, a scale gives the right age for
// the median reading, averaged over the collections. Both scales are then bent around
// Cutoff, until at most the share falsePass of the 13- to 17-year-olds reaches it in
// the worst collection. Copies with each of fittedDrawings count as collections of
// their own. Fit fails if no collection has fewestYoung pictures of these ages.
func Fit(readings []Reading, falsePass float64) (Fitted, error) {
	tail := middles(readings, func(r Reading) float64 { return r.Tail })
	second := middles(readings, func(r Reading) float64 { return r.Second })
	// By halving: the higher the age that becomes Cutoff, the fewer reach it.
	low, high := 18.0, 39.0
	fitted := func(at float64) Fitted {
		f := Fitted{Tail: bent(tail, at), Second: bent(second, at)}
		f.Young = f.young(readings)
		return f
	}
	for range 20 {
		at := (low + high) / 2
		f := fitted(at)
		worst, known := 0.0, false
		for _, m := range f.Young {
			if m.fitted() && m.Pass.Of >= fewestYoung*m.Draws {
				worst, known = max(worst, m.Pass.Rate), true
			}
		}
		switch {
		case !known:
			return f, errors.New("no collection has 30 pictures of 13- to 17-year-olds, which the scales need")
		case worst > falsePass:
			low = at
		default:
			high = at
		}
	}
	return fitted(high), nil
}

func (f Fitted) young(readings []Reading) (found []Minors) {
	type group struct{ collection, altered string }
	counts := map[group]Minors{}
	for _, r := range readings {
		if !young(r.Age) {
			continue
		}
		g := group{r.Collection, r.Altered}
		m := counts[g]
		m.Collection, m.Altered, m.Draws = r.Collection, r.Altered, max(m.Draws, r.Draw+1)
		if m.Pass.Of++; f.Years(r) >= Cutoff {
			m.Pass.Count++
		}
		counts[g] = m
	}
	for _, m := range counts {
		m.Pass = NewShare(m.Pass.Count, m.Pass.Of)
		found = append(found, m)
	}
	slices.SortFunc(found, func(a, b Minors) int {
		return cmp.Or(cmp.Compare(a.Collection, b.Collection), cmp.Compare(a.Altered, b.Altered))
	})
	return found
}

// middles returns the rising line through the median readings at anchors.
func middles(readings []Reading, of func(Reading) float64) inference.Scale {
	var line inference.Scale
	for _, years := range anchors {
		near := map[string][]float64{}
		for _, r := range readings {
			if r.Altered == Unaltered && r.Age >= years-2 && r.Age <= years+2 {
				near[r.Collection] = append(near[r.Collection], of(r))
			}
		}
		sum, count := 0.0, 0
		for _, values := range near {
			if len(values) >= 10 {
				slices.Sort(values)
				sum, count = sum+values[len(values)/2], count+1
			}
		}
		if count > 0 {
			line = append(line, inference.ScalePoint{Reading: sum / float64(count), Years: float64(years)})
		}
	}
	return rising(line)
}

// leastStep is the smallest difference between the readings of two neighbouring points
// of a scale, in years.
const leastStep = 0.2

// rising leaves out points that do not rise, and rounds the others.
func rising(line inference.Scale) (out inference.Scale) {
	for _, p := range line {
		p.Reading, p.Years = math.Round(p.Reading*100)/100, math.Round(p.Years*100)/100
		if len(out) == 0 || p.Reading >= out[len(out)-1].Reading+leastStep && p.Years > out[len(out)-1].Years {
			out = append(out, p)
		}
	}
	return out
}

// bent changes a scale only between these ages, in years.
const bentFrom, bentTo = 15.0, 40.0

// bent changes a scale so that the age at becomes Cutoff. From bentFrom to at and from
// at to bentTo, the change grows and shrinks in straight lines.
func bent(s inference.Scale, at float64) inference.Scale {
	var out inference.Scale
	for i, p := range s {
		if i > 0 && s[i-1].Years < at && at < p.Years {
			share := (at - s[i-1].Years) / (p.Years - s[i-1].Years)
			out = append(out, inference.ScalePoint{Reading: s[i-1].Reading + share*(p.Reading-s[i-1].Reading), Years: at})
		}
		out = append(out, p)
	}
	for i := range out {
		switch y := &out[i].Years; {
		case *y > bentFrom && *y <= at:
			*y = bentFrom + (*y-bentFrom)*(Cutoff-bentFrom)/(at-bentFrom)
		case *y > at && *y < bentTo:
			*y = bentTo - (bentTo-*y)*(bentTo-Cutoff)/(bentTo-at)
		}
	}
	return rising(out)
}
