package tenant

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The target ages of sessions, in years.
const (
	MinTarget = 13
	MaxTarget = 60
)

// DefaultMargin is the margin of a gateway that sets none, in years; docs/expect.md is measured with it.
const DefaultMargin = 7

// maxMargin is the largest margin, in years.
const maxMargin = 50

// ParseMargin reads a margin in years. ok is false for a margin outside of 0 to 50: a
// negative margin would let people pass who are younger than the target age.
func ParseMargin(text string) (years float64, ok bool) {
	years, err := strconv.ParseFloat(text, 64)
	return years, err == nil && years >= 0 && years <= maxMargin
}

// MarginRule is the operator's rule for the years by which an estimate must exceed the target age.
type MarginRule struct {
	Usual float64 // where a tenant has no margin of its own
	Least float64 // no tenant goes below it
}

// Margin returns by how many years an estimate must exceed a target age.
func (t Tenant) Margin(target int, rule MarginRule) float64 {
	for _, text := range t.Margins {
		if at, years, err := parseMargin(text); err == nil && at == target {
			return max(years, rule.Least)
		}
	}
	return rule.Usual
}

// parseMargin reads an entry of Tenant.Margins.
func parseMargin(text string) (target int, years float64, err error) {
	at, by, _ := strings.Cut(text, "=")
	target, err = strconv.Atoi(at)
	years, ok := ParseMargin(by)
	if err != nil || target < MinTarget || target > MaxTarget || !ok {
		return 0, 0, ErrMargins
	}
	return target, years, nil
}

// checkMargins returns the stored form of margins: one for each target age, the lowest age first.
func checkMargins(given []string, least float64) ([]string, error) {
	years := map[int]float64{}
	var margins []string
	for _, text := range given {
		target, margin, err := parseMargin(strings.TrimSpace(text))
		if _, twice := years[target]; err != nil || twice {
			return nil, ErrMargins
		}
		if margin < least {
			return nil, fmt.Errorf("%w, which is %s here", ErrLowMargin, strconv.FormatFloat(least, 'f', -1, 64))
		}
		years[target] = margin
		margins = append(margins, fmt.Sprintf("%d=%s", target, strconv.FormatFloat(margin, 'f', -1, 64)))
	}
	slices.SortFunc(margins, func(a, b string) int { return cmp.Compare(a[:2], b[:2]) })
	return margins, nil
}

// TargetMargin changes a tenant's margin for one target age and leaves the others.
type TargetMargin struct {
	Target int
	Years  string // as ParseMargin reads them; empty for the gateway's margin
}

// prefix returns the beginning of the target age's entry in Tenant.Margins.
func (m TargetMargin) prefix() string { return strconv.Itoa(m.Target) + "=" }

// in returns the margins with this change.
func (m TargetMargin) in(margins []string) []string {
	next := slices.DeleteFunc(slices.Clone(margins), func(one string) bool { return strings.HasPrefix(one, m.prefix()) })
	if m.Years != "" {
		next = append(next, m.prefix()+m.Years)
	}
	slices.Sort(next)
	return next
}
