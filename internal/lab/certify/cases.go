package certify

import (
	"slices"
	"strings"

	"agegate/internal/lab/suite"
)

// ways returns the ways of release that a case tests.
func (c testCase) ways() []Way {
	way, tried, _ := strings.Cut(c.name, ".")
	if way != onceCases {
		return []Way{Way(way)}
	}
	var all []Way
	for name := range strings.SplitSeq(strings.TrimSuffix(tried, together), "-and-") {
		all = append(all, Way(name))
	}
	return all
}

func (t *Target) releasesOn(w Way) bool { return slices.Contains(t.ReleasesOn, w) }

// allCases returns all cases, in the order in which they are tried.
func allCases() []testCase {
	return slices.Concat(webhookCases, forgedWebhookCases, redirectCases, forgedRedirectCases, shopperCases, browserCases,
		pollingCases, frontCases, severalCases, betweenCases)
}

// choose returns the possible cases whose names match one of the patterns; all of
// them if there is none.
func choose(patterns []string, target *Target, known Secrets) ([]testCase, error) {
	open := slices.DeleteFunc(allCases(), func(c testCase) bool { return !c.possible(target, known) })
	return suite.Choose(open, func(c testCase) string { return c.name }, patterns)
}

// possible reports whether the case can be tried at a shop with the known secrets.
// Without the redirect secret, only a passed session has a token, and the shop may
// also release such an order by webhook or lookup.
func (c testCase) possible(t *Target, known Secrets) bool {
	if slices.Contains(c.ways(), WayWebhook) && (known.Webhook == nil || t.WebhookURL == "") {
		return false
	}
	switch {
	case c.fronted && (t.Front == nil || t.Poll == nil):
		return false
	case c.name == ageCase && t.Age == 0:
		return false
	case known.Redirect != nil:
		return true
	case c.signs:
		return false
	case c.passes:
		return !t.releasesOn(WayWebhook) && !t.releasesOn(WayPolling)
	}
	return true
}

// LeftOut returns the names of the cases that cannot be tried, those of webhooks as
// webhook.*.
func LeftOut(t Target, known Secrets) (names []string) {
	for _, c := range allCases() {
		name := c.name
		if c.ways()[0] == WayWebhook {
			name = "webhook.*"
		}
		if !c.possible(&t, known) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Case describes a case in a plan.
type Case struct {
	Name, Title, Fix string
	Releases         bool // the case is a pass and must release the order
}

// Plan returns all cases, in the order in which they are tried.
func Plan() []Case {
	var plan []Case
	for _, c := range allCases() {
		plan = append(plan, Case{c.name, c.title, c.fix, c.releases})
	}
	return plan
}

// MaxSessions is the maximum number of test sessions that a run creates.
func MaxSessions() int {
	n := learnOrders
	for _, c := range allCases() {
		n += max(c.orders, 1)
	}
	return n
}
