package main

import (
	"cmp"
	"slices"

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
	minors = band{13, 17}
	adults = band{25, 35}
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

// lines returns the lines of a collection: all, by sex, and each group by sex.
func lines(c measured.Collection) (found []line) {
	seen := map[line]bool{}
	for _, x := range c.Cells {
		l := line{x.Sex, x.Group}
		if b := (band{x.From, x.To}); (b == minors || b == adults) && !seen[l] {
			seen[l] = true
			found = append(found, l)
		}
	}
	slices.SortFunc(found, func(a, b line) int { return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.sex, b.sex)) })
	return found
}
