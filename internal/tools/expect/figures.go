package main

import (
	"cmp"
	"fmt"
	"slices"

	"agegate/internal/backoffice/evidence"
	"agegate/internal/backoffice/insight"
	"agegate/internal/lab/measured"
)

// The cutoff for a target age of 18 at the default margin, and the ages of the
// pictures: the years that NIST's FATE AEV reports singly, and the two age ranges
// for which pass rates are published.
const (
	cutoff              = 25
	firstYear, lastYear = 18, 30
)

var (
	minors = band{measured.Minors[0], measured.Minors[1]}
	adults = band{measured.Adults[0], measured.Adults[1]}
)

type band struct{ from, to int }

// cell returns a cell of a collection, if the collection has it.
func cell(c measured.Collection, b band, sex, group string) (measured.Cell, bool) {
	i := slices.IndexFunc(c.Cells, func(x measured.Cell) bool {
		return x.From == b.from && x.To == b.to && x.Sex == sex && x.Group == group
	})
	if i < 0 {
		return measured.Cell{}, false
	}
	return c.Cells[i], true
}

// pass returns the share of a cell that passes the cutoff.
func pass(c measured.Cell) insight.Rate {
	n, _ := c.Passing.Reach(cutoff)
	return insight.RateOf(int64(n), int64(c.Count))
}

// worst orders cells from the one where the fewest pass on, those with few pictures last.
func worst(a, b measured.Cell) int {
	few := func(c measured.Cell) int {
		if c.Count < evidence.MinCount {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(few(a), few(b)), cmp.Compare(pass(a).Share, pass(b).Share))
}

// leastTrained orders collections by how much of them the training had, none of it first.
func leastTrained(a, b measured.Collection) int {
	had := func(c measured.Collection) int {
		return slices.Index([]string{measured.Untrained, measured.OtherPart, measured.Trained}, c.Training)
	}
	return cmp.Compare(had(a), had(b))
}

// few is what is said of a cell with few pictures, and "" of another.
func few(c measured.Cell) string {
	if c.Count < evidence.MinCount {
		return " (too few to say)"
	}
	return ""
}

// none is what is said of a cell that is left out.
func none(l line) string {
	fewest := evidence.MinCount
	if l.sex != "" && l.group != "" {
		fewest = measured.FewestInGroup
	}
	return fmt.Sprintf("n < %d", fewest)
}

// line is a line of the picture of groups.
type line struct{ sex, group string }

// name names the people of a line.
func (l line) name() string {
	people := map[string]string{"": "all", "female": "women", "male": "men"}[l.sex]
	if l.group == "" {
		return people
	}
	return l.group + ", " + people
}

// lines returns the lines of a collection: all, by sex, and each group by sex, the one where
// the fewest adults pass first.
func lines(c measured.Collection) (found []line) {
	seen := map[line]bool{}
	for _, x := range c.Cells {
		l := line{x.Sex, x.Group}
		if b := (band{x.From, x.To}); (b == minors || b == adults) && !seen[l] && (x.Group == "" || x.Sex != "") {
			seen[l] = true
			found = append(found, l)
		}
	}
	const known, unknown = 3, 4 // whether the share of the group's adults is
	place := func(l line) (measured.Cell, int) {
		of, ok := cell(c, adults, l.sex, l.group)
		switch {
		case l.group == "":
			return of, slices.Index([]string{"", "female", "male"}, l.sex)
		case ok:
			return of, known
		}
		return of, unknown
	}
	slices.SortFunc(found, func(a, b line) int {
		x, i := place(a)
		y, j := place(b)
		if i != j || i == unknown {
			return cmp.Or(cmp.Compare(i, j), cmp.Compare(a.name(), b.name()))
		}
		return worst(x, y)
	})
	return found
}
