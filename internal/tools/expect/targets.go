package main

import (
	"fmt"
	"strings"

	"agegate/internal/backoffice/insight"
	"agegate/internal/check/age/curve"
)

// The target ages of the tables, the default margin in years, and how many ages
// below and from the cutoff on are counted together.
var targets = []int{13, 15, 16, 18, 21}

const (
	usualMargin = 7
	below       = 5
	above       = 10
	mayPass     = 0.035 // the share of the ages below that the scale was fitted to let pass at 18
)

const targetsText = `
## Other target ages

All %d pictures held out, of both collections together, at the default margin of %d years. The last column is the
smallest whole margin with which at most %.1f %% of the %d ages below the target pass; with so few pictures it may be
wrong by years. The estimate changes unevenly with the face around 25, so one year of margin costs and gains
differently at each target: see the operator's threshold lab.

| Target | cutoff | %d ages below: n | pass, %% (95 %%) | %d ages from the cutoff on: n | pass, %% (95 %%) | margin |
|---|---|---|---|---|---|---|
`

// writeTargets writes who passes at each target age, for both collections together,
// because one alone has few pictures of each year.
func writeTargets(b *strings.Builder, c *curve.Curve) {
	fmt.Fprintf(b, targetsText, c.Pictures(), usualMargin, 100*mayPass, below, below, above)
	for _, target := range targets {
		cutoff := target + usualMargin
		minors, adults := passing(c, target-below, target-1, cutoff), passing(c, cutoff, cutoff+above-1, cutoff)
		fmt.Fprintf(b, "| %d | %d | %s | %s | %d |\n", target, cutoff, minors, adults, marginNeeded(c, target))
	}
	b.WriteString("\nBy single year below the target, n and pass, % (95 %):\n\n| Target |")
	for years := below; years >= 1; years-- {
		fmt.Fprintf(b, " %d below: n | pass |", years)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|---|", below) + "\n")
	for _, target := range targets {
		fmt.Fprintf(b, "| %d |", target)
		for years := below; years >= 1; years-- {
			fmt.Fprintf(b, " %s |", passing(c, target-years, target-years, target+usualMargin))
		}
		b.WriteString("\n")
	}
}

// passing says how many pictures an age range has and which share passes, as two
// cells.
func passing(c *curve.Curve, from, to, cutoff int) string {
	n, of := c.Passing(from, to, float64(cutoff))
	rate := insight.RateOf(n, of)
	return fmt.Sprintf("%d | %.1f (%.1f–%.1f)", of, 100*rate.Share, 100*rate.Low, 100*rate.High)
}

// marginNeeded returns the smallest margin with which at most mayPass of the ages
// below a target pass.
func marginNeeded(c *curve.Curve, target int) int {
	margin := 0
	for ; ; margin++ {
		n, of := c.Passing(target-below, target-1, float64(target+margin))
		if float64(n) <= mayPass*float64(of) {
			return margin
		}
	}
}
