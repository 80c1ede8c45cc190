package main

import (
	"fmt"
	"strings"

	"agegate/internal/backoffice/insight"
	"agegate/internal/lab/curve"
	"agegate/internal/lab/measured"
)

const (
	usualMargin = 7 // years, the default
	below       = measured.AgesBelow
	from        = measured.AgesFrom
)

// ages are the age ranges of the summary, the minors first.
var ages = []band{minors, {18, 24}, adults, {36, 50}, {51, 70}}

const summaryText = `
Shoppers whom the camera does not pass can show [a document](document.md), where the tenant offers that. Otherwise the
session ends as FALLBACK, your shop decides, and
[no other camera check](guides/integrate.md#another-try-after-a-refusal) follows.

**On pictures unlike these, more minors pass**: with make-up drawn on the face, up to 6 % of a group, and 8.6 % of
81 on parts of a collection that the training did not have, whose labels are rougher (both below). An earlier study of
the two models found 6.5 to 15.4 % of 13- to 17-year-olds, on scans of old photographs and on studio portraits with
make-up ([docs/measurements.md](measurements.md)). An estimate is never a proof of age.
`

// writeSummary writes who passes for a target age of 18 at the default margin, for both
// collections together.
func writeSummary(b *strings.Builder, c *curve.Curve) {
	b.WriteString("| Age | Passed by the camera, % (95 %) | Pictures |\n|---|---|---|\n")
	for _, a := range ages {
		n, of := c.Passing(a.from, a.to, cutoff)
		fmt.Fprintf(b, "| %d to %d | %s | %d |\n", a.from, a.to, share(n, of), of)
	}
	b.WriteString(summaryText)
}

const targetsText = `
## Other target ages

All %d pictures held out, of both collections together, at the default margin of %d years. The last column is the
smallest whole margin with which at most %.1f %% of the %d ages below the target pass; with so few pictures it may be
off by years. The estimate changes unevenly with the face around 25, so one year of margin costs and gains
differently at each target. The ages from the target on are those whom a rule is about that lets the target age in:
at the default margin few of them pass by the camera.

| Target | cutoff | %d ages below: n | pass, %% (95 %%) | %d ages from the target on: n | pass, %% (95 %%) | margin |
|---|---|---|---|---|---|---|
`

// writeTargets writes who passes at each target age, for both collections together,
// because one alone has few pictures of each year.
func writeTargets(b *strings.Builder, c *curve.Curve) {
	fmt.Fprintf(b, targetsText, c.Pictures(), usualMargin, 100*measured.MayPass, below, below, from)
	for _, target := range measured.Targets {
		cutoff := target + usualMargin
		younger, older := passing(c, target-below, target-1, cutoff), passing(c, target, target+from-1, cutoff)
		fmt.Fprintf(b, "| %d | %d | %s | %s | %d |\n", target, cutoff, younger, older, measured.MarginNeeded(c, target))
	}
	b.WriteString("\nBy single year below the target, n and pass, % (95 %):\n\n| Target |")
	for years := below; years >= 1; years-- {
		fmt.Fprintf(b, " %d below: n | pass |", years)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|---|", below) + "\n")
	for _, target := range measured.Targets {
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
	return fmt.Sprintf("%d | %s", of, share(n, of))
}

// share returns a share in per cent, with its bounds.
func share(n, of int64) string {
	rate := insight.RateOf(n, of)
	return fmt.Sprintf("%.1f (%.1f–%.1f)", 100*rate.Share, 100*rate.Low, 100*rate.High)
}
