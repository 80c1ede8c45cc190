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
	found := make([][]*Sample, len(names)) // by alteration and picture; nil where refused
	for i := range found {
		found[i] = make([]*Sample, len(set))
	}
	err := Each(ctx, len(set), o, func(ctx context.Context, i int) error {
		s, err := o.open(ctx, analyzer, set[i])
		if err != nil {
			return err
		}
		random := rand.New(rand.NewPCG(1+uint64(i), 1)) //nolint:gosec // repeatable on purpose
		for n := range names {
			as := s
			if n > 0 {
				as = s.copy()
				Alterations[n-1].apply(as, random)
			}
			l, seen, err := look(ctx, analyzer, as.img)
			if err != nil {
				return err
			}
			if n == 0 {
				s.points = seen.Landmarks
			}
			if l.Features == nil {
				if n == 0 {
					return nil
				}
				continue
			}
			found[n][i] = &Sample{Age: set[i].Age, Estimate: rounded(head.Estimate(l.Features).Years)}
		}
		return nil
	})
	var out []Altered
	for n, name := range names {
		out = append(out, alteredReport(name, found[n], target))
	}
	return out, err
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
