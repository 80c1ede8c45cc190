package accuracy

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteText prints the report for people, with tab-separated columns.
func (r Report) WriteText(w io.Writer) {
	fmt.Fprintf(w, "%d pictures, %d measured. Each is one frame; the page decides on the median of several.\n", r.Pictures,
		r.Measured)
	for _, refusal := range r.Refused {
		fmt.Fprintf(w, "refused: %s\t%d\n", refusal.Reason, refusal.Count)
	}
	r.writeTables(w)
	writeSeparation(w, append([]Part{{"all", r}}, r.Parts...), r.Target)
	for _, p := range r.Parts {
		fmt.Fprintf(w, "\n%s, %d pictures\n", strings.ToUpper(p.Name), p.Measured)
		p.writeTables(w)
	}
	if len(r.Altered) > 0 {
		writeAltered(w, r.Altered, r.Target)
	}
	if r.Recommended != nil {
		fmt.Fprintf(w, "\nRecommended: AGEGATE_AGE_MARGIN=%d, the smallest with which at most %.0f %% of the ages %s pass.\n",
			*r.Recommended, 100*r.MaxFalse, span(r.Target-5, r.Target-1))
	} else {
		fmt.Fprintf(w, "\nNo margin can be recommended: it takes %d pictures of the ages %s, and a margin up to %d at "+
			"which %.0f %% of them or fewer pass.\n",
			fewestBelow, span(r.Target-5, r.Target-1), maxMargin, 100*r.MaxFalse)
	}
}

// writeTables prints errors and pass rates by age and group.
func (r Report) writeTables(w io.Writer) {
	fmt.Fprintf(w, "\nAGE\tPICTURES\tMAE\tBIAS\n")
	for _, b := range r.Bands {
		fmt.Fprintf(w, "%s\t%d\t%.2f\t%+.2f\n", span(b.From, b.To), b.Count, b.MAE, b.Bias)
	}
	fmt.Fprintf(w, "\nBELOW %d, BUT PASSES\tPICTURES%s\n", r.Target, r.heading())
	for _, p := range r.FalsePass {
		p.row(w, "")
	}
	fmt.Fprintf(w, "\n%d OR OVER, PASSES\tPICTURES%s\n", r.Target, r.heading())
	for _, p := range slices.Concat(r.Pass, r.Older) {
		p.row(w, "")
	}
	if len(r.Groups) > 0 {
		fmt.Fprintf(w, "\nGROUP\tPICTURES\tMAE\tBIAS\n")
		for _, g := range r.Groups {
			fmt.Fprintf(w, "%s\t%d\t%.2f\t%+.2f\n", g.Name, g.Count, g.MAE, g.Bias)
		}
		fmt.Fprintf(w, "\nGROUP, AGES, PASSES\tPICTURES%s\n", r.heading())
		for _, g := range r.Groups {
			for _, p := range []Passing{g.FalsePass, g.Pass, g.Clear} {
				p.row(w, g.Name+", ")
			}
		}
	}
}

// heading names the columns of a passing row.
func (r Report) heading() string {
	var s strings.Builder
	for _, margin := range r.Margins {
		fmt.Fprintf(&s, "\tMARGIN %d (CUTOFF %d)", margin, r.Target+margin)
	}
	return s.String()
}

// row prints the shares with their intervals, in per cent.
func (p Passing) row(w io.Writer, prefix string) {
	fmt.Fprintf(w, "%s%s\t%d", prefix, span(p.From, p.To), p.Shares[0].Of)
	for _, s := range p.Shares {
		fmt.Fprintf(w, "\t%s", s)
	}
	fmt.Fprintln(w)
}

// String returns the share in per cent with its interval, or "-" if Of is 0.
func (s Share) String() string {
	if s.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %% (%.1f–%.1f)", 100*s.Rate, 100*s.Low, 100*s.High)
}

func span(from, to int) string {
	switch {
	case from == to:
		return fmt.Sprint(from)
	case to >= 120:
		return fmt.Sprintf("%d+", from)
	}
	return fmt.Sprintf("%d–%d", from, to)
}
