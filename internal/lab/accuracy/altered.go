package accuracy

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"

	"agegate/internal/check/age"
	"agegate/internal/check/vision"
)

// Altered is the report on a set's pictures with one alteration, to be compared
// with the report on the same pictures unaltered.
type Altered struct {
	Name      string  `json:"name"`       // of the Alteration; "as it is" for the unaltered pictures
	Measured  int     `json:"measured"`   // pictures that the page would count
	MAE       float64 `json:"mae"`        // years, over all ages
	Young     *Band   `json:"young"`      // the five ages below the target; nil without any
	FalsePass Passing `json:"false_pass"` // of the same ages
	Clear     Passing `json:"clear_pass"` // 7 to 17 years above the target
}

// Unaltered is the name of the report on the unaltered pictures.
const Unaltered = "as it is"

// EvaluateAltered processes every picture of a set unaltered and with each of
// Alterations, and reports the accuracy of the head's estimates.
func EvaluateAltered(
	ctx context.Context, analyzer vision.Analyzer, head age.Head, set []Picture, o Options, target int,
) ([]Altered, error) {
	names := []string{Unaltered}
	for _, a := range Alterations {
		names = append(names, a.Name)
	}
	found := map[string][]*Sample{} // by alteration and picture; nil where refused
	for _, name := range names {
		found[name] = make([]*Sample, len(set))
	}
	err := Each(ctx, len(set), o, func(ctx context.Context, i int) error {
		s, err := o.open(ctx, analyzer, set[i])
		if err != nil {
			return err
		}
		once := func(string) int { return 1 }
		return lookAltered(ctx, analyzer, s, i, once, func(altered string, _ int, f *vision.Features) {
			found[altered][i] = &Sample{Age: set[i].Age, Estimate: rounded(head.Estimate(f).Years)}
		})
	})
	var out []Altered
	for _, name := range names {
		out = append(out, alteredReport(name, found[name], target))
	}
	return out, err
}

// lookAltered looks at the picture with a number in its set: as it is and, if the page
// would count it, at as many copies with each of Alterations as draws says. It calls use
// with the features of each that the page would count.
func lookAltered(
	ctx context.Context, analyzer vision.Analyzer, s *shot, number int, draws func(altered string) int,
	use func(altered string, draw int, f *vision.Features),
) error {
	l, seen, err := look(ctx, analyzer, s.img)
	if err != nil || l.Features == nil {
		return err
	}
	use(Unaltered, 0, l.Features)
	s.points = seen.Landmarks
	random := rand.New(rand.NewPCG(1+uint64(number), 1)) //nolint:gosec // repeatable on purpose
	for _, a := range Alterations {
		for draw := range draws(a.Name) {
			as := s.copy()
			a.apply(as, random)
			if l, _, err = look(ctx, analyzer, as.img); err != nil {
				return err
			}
			if l.Features != nil {
				use(a.Name, draw, l.Features)
			}
		}
	}
	return nil
}

func alteredReport(name string, found []*Sample, target int) Altered {
	var samples []Sample
	for _, s := range found {
		if s != nil {
			samples = append(samples, *s)
		}
	}
	a := Altered{Name: name, Measured: len(samples), Young: bandOf(samples, target-5, target-1),
		FalsePass: passing(samples, target, target-5, target-1), Clear: passing(samples, target, target+7, target+17)}
	if len(samples) > 0 {
		a.MAE, _ = errorsOf(samples)
	}
	return a
}

// defaultMargin is the index of AGEGATE_AGE_MARGIN's default in Margins.
const defaultMargin = 2

// writeAltered prints the table as text, at the default margin.
func writeAltered(w io.Writer, all []Altered, target int) {
	young, older := span(target-5, target-1), span(target+7, target+17)
	fmt.Fprintf(w, "\nALTERED\tMEASURED\tMAE\tMAE %s\tBIAS %s\t%s PASS AT %d\t%s PASS\n", young, young, young,
		target+Margins[defaultMargin], older)
	for _, a := range all {
		fmt.Fprintf(w, "%s\t%d\t%.2f", a.Name, a.Measured, a.MAE)
		if a.Young == nil {
			fmt.Fprint(w, "\t-\t-")
		} else {
			fmt.Fprintf(w, "\t%.2f\t%+.2f", a.Young.MAE, a.Young.Bias)
		}
		for _, p := range []Passing{a.FalsePass, a.Clear} {
			fmt.Fprintf(w, "\t%s", p.Shares[defaultMargin])
		}
		fmt.Fprintln(w)
	}
}
