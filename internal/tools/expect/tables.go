package main

import (
	"fmt"
	"math"
	"strings"

	"agegate/internal/lab/curve"
	"agegate/internal/lab/measured"
)

// generated returns the pictures and tables of the document. The tables are the
// text alternative of the pictures: they contain every number drawn.
func generated(f measured.Fairness, byAge *curve.Curve) []byte {
	var b strings.Builder
	writeSummary(&b, byAge)
	b.WriteString("\n## Who passes, by group and sex\n\n")
	show(&b, "groups", groupsTitle+". The table below has the numbers.")
	b.WriteString(groupsText)
	for _, c := range f.Collections {
		const columns = " n | pass, % (95 %) | error, years (95 %) | mean error (95 %) |"
		b.WriteString("\n" + c.Name + ":\n\n| Group | In training | 25 to 35:" + columns + " 13 to 17:" + columns + "\n" +
			"|---|---|---|---|---|---|---|---|---|---|\n")
		for _, l := range lines(c) {
			fmt.Fprintf(&b, "| %s | %s |", l.name(), c.Training)
			for _, ages := range []band{adults, minors} {
				of, ok := cell(c, ages, l.sex, l.group)
				if !ok {
					fmt.Fprintf(&b, " %s | – | – | – |", strings.TrimPrefix(none(l), "n "))
					continue
				}
				rate := pass(of)
				fmt.Fprintf(&b, " %d%s | %.1f (%.1f–%.1f) | %s | %s |", of.Count, few(of), 100*rate.Share, 100*rate.Low,
					100*rate.High, bounds(of.MAE, "%.1f"), bounds(of.Bias, "%+.1f"))
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\n## How far off the estimate is, by single year and sex\n\n")
	show(&b, "years", yearsTitle+". The table below has the numbers.")
	for _, c := range f.Collections {
		fmt.Fprintf(&b, "\n%s, n and mean absolute error, years (95 %%):\n\n| Age | all: n | error | women: n | error | "+
			"men: n | error |\n|---|---|---|---|---|---|---|\n", c.Name)
		for years := firstYear; years <= lastYear; years++ {
			fmt.Fprintf(&b, "| %d |", years)
			for _, sex := range []string{"", "female", "male"} {
				if of, ok := cell(c, band{years, years}, sex, ""); ok {
					fmt.Fprintf(&b, " %d | %s |", of.Count, bounds(of.MAE, "%.1f"))
				} else {
					b.WriteString(" < 20 | – |")
				}
			}
			b.WriteString("\n")
		}
	}
	writeTargets(&b, byAge)
	fmt.Fprintf(&b, "\n## How this was measured\n\nEstimator `%s`. ", f.Estimator)
	for i, c := range f.Collections {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s: %d pictures, measured on %s", c.Name, c.Pictures, c.MadeAt.Format("2006-01-02"))
	}
	b.WriteString(".\n")
	return []byte(b.String())
}

// leastPassing is the number of groups in the table of the README whose adults pass least.
const leastPassing = 3

// strangers returns the table of the README, of the collection of which the training had the least: everybody, each
// sex, the groups whose adults pass least, and each group of which more minors pass than of everybody.
func strangers(f measured.Fairness) []byte {
	var b strings.Builder
	c := f.Collections[0]
	fmt.Fprintf(&b, "| %s | 25 to 35 pass, %% (95 %%) | 13 to 17 pass, %% (95 %%) |\n|---|---|---|\n", c.Name)
	everybody, _ := cell(c, minors, "", "")
	groups := 0
	for _, l := range lines(c) {
		if l.group != "" {
			of, ok := cell(c, minors, l.sex, l.group)
			if groups++; groups > leastPassing && (!ok || pass(of).Share <= pass(everybody).Share) {
				continue
			}
		}
		fmt.Fprintf(&b, "| %s |", l.name())
		for _, ages := range []band{adults, minors} {
			of, ok := cell(c, ages, l.sex, l.group)
			if !ok {
				fmt.Fprintf(&b, " %s |", none(l))
				continue
			}
			n, _ := of.Passing.Reach(cutoff)
			fmt.Fprintf(&b, " %s of %d%s |", share(int64(n), int64(of.Count)), of.Count, few(of))
		}
		b.WriteString("\n")
	}
	return []byte(b.String())
}

const groupsText = `
Groups and sexes by the labels of the collections, the worst first: where the fewest of 25 to 35 pass. **In training**
says whether the training of the estimate had other pictures of the collection, or of another part of it; figures
from a collection in training flatter.
`

// show writes a picture in both themes.
func show(b *strings.Builder, name, alt string) {
	fmt.Fprintf(b, "<picture>\n  <source media=\"(prefers-color-scheme: dark)\" srcset=\"pictures/%s-dark.svg\">\n  "+
		"<img src=\"pictures/%s-light.svg\" alt=\"%s\" width=\"%d\">\n</picture>\n", name, name, alt, width)
}

func bounds(v measured.Bounds, format string) string {
	tenth := func(years float64) float64 { return math.Round(10*years) / 10 }
	text := fmt.Sprintf(format+" ("+format+" to "+format+")", tenth(v.Value), tenth(v.Low), tenth(v.High))
	return strings.ReplaceAll(strings.ReplaceAll(text, "-0.0", "0.0"), "+0.0", "0.0")
}
