package certify

import (
	"maps"
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
	open := slices.DeleteFunc(allCases(), func(c testCase) bool { return c.lacks(target, known) != "" })
	return suite.Choose(open, func(c testCase) string { return c.name }, patterns)
}

// lacks returns what is missing to try the case at a shop with the known secrets: a
// variable, a flag or a field of the target, or nothing. Without the redirect secret,
// only a passed session has a token, and the shop may also release such an order by
// webhook or lookup.
func (c testCase) lacks(t *Target, known Secrets) string {
	hooked := slices.Contains(c.ways(), WayWebhook)
	switch {
	case hooked && known.Webhook == nil:
		return "WEBHOOK_SECRET"
	case hooked && t.WebhookURL == "":
		return "webhook_url"
	case c.fronted && t.Front == nil:
		return "--front"
	case c.fronted && t.Poll == nil:
		return "poll"
	case c.name == ageCase && t.Age == 0:
		return "age"
	case known.Redirect == nil && (c.signs || c.passes && (t.releasesOn(WayWebhook) || t.releasesOn(WayPolling))):
		return "REDIRECT_SECRET"
	}
	return ""
}

// LeftOut returns, for each thing that is missing, its name and the names of the cases that
// cannot be tried without it, those of webhooks as webhook.*.
func LeftOut(t Target, known Secrets) (missing []string) {
	names := map[string][]string{}
	for _, c := range allCases() {
		name, lack := c.name, c.lacks(&t, known)
		if c.ways()[0] == WayWebhook {
			name = "webhook.*"
		}
		if lack != "" && !slices.Contains(names[lack], name) {
			names[lack] = append(names[lack], name)
		}
	}
	for _, lack := range slices.Sorted(maps.Keys(names)) {
		missing = append(missing, lack+": "+strings.Join(names[lack], " "))
	}
	return missing
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
