package certify_test

import (
	"strings"
	"testing"

	"agegate/internal/lab/certify"
)

// comparisons are the wrong ways to compare a value with the wanted one.
var comparisons = []struct {
	name string
	same func(want, given string) bool
}{
	{"the wanted one starts with it", strings.HasPrefix},
	{"the wanted one starts with it, and it is not empty", func(want, given string) bool {
		return given != "" && strings.HasPrefix(want, given)
	}},
	{"the wanted one ends with it", strings.HasSuffix},
	{"the wanted one has it", strings.Contains},
	{"it starts with the wanted one", func(want, given string) bool { return strings.HasPrefix(given, want) }},
	{"it has the wanted one", func(want, given string) bool { return strings.Contains(given, want) }},
	{"without regard to case", strings.EqualFold},
	{"by the first letter", func(want, given string) bool { return given != "" && want[0] == given[0] }},
	{"by the first half", func(want, given string) bool {
		return strings.HasPrefix(given, want[:len(want)/2])
	}},
	{"by the last letter", func(want, given string) bool {
		return given != "" && want[len(want)-1] == given[len(given)-1]
	}},
	{"by its length", func(want, given string) bool { return len(want) == len(given) }},
	{"unless it is empty", func(want, given string) bool { return given == "" || want == given }},
	{"up to the shorter one", func(want, given string) bool {
		n := min(len(want), len(given))
		return want[:n] == given[:n]
	}},
	{"not at all", func(string, string) bool { return true }},
}

// harmless are comparisons of a field by which nobody gets anything.
var harmless = map[string][]string{
	"event":     {"without regard to case", "it starts with the wanted one", "it has the wanted one"},
	"signature": {"unless it is empty"}, // each signature has a letter
	"poll":      {"without regard to case", "it starts with the wanted one", "it has the wanted one"},
}

// TestLooseComparisons: a shop that compares a field in a wrong way is found, for
// every field and every way.
func TestLooseComparisons(t *testing.T) {
	g := start(t, "AGEGATE_WEBHOOK_ALLOW_NETS=192.0.2.0/24", "AGEGATE_TEST_DAILY_CAP=-1")
	server, handler := serve(t)
	c := register(t, g, server.URL)
	made, found := 0, 0
	for field, cases := range map[string][]string{
		"mac":       {"redirect.cut-*", "redirect.unsigned", "redirect.other-*", "redirect.junk", "redirect.respelled"},
		"signature": {"webhook.cut-*", "webhook.f*", "webhook.*-signature"},
		"status":    {"webhook.cut-member", "webhook.fallback"},
		"event":     {"webhook.cut-member", "webhook.good", "webhook.out-of-order"},
		"poll":      {"polling.*"},
	} {
	next:
		for _, way := range comparisons {
			for _, name := range harmless[field] {
				if name == way.name {
					continue next
				}
			}
			shop := &carelessShop{gateway: g.URL, now: g.Clock.Now,
				loose: map[string]func(want, given string) bool{field: way.same}}
			shop.use(t, c.Test)
			*handler = shop
			report, err := attack(t, g, c, targetOf(t, server.URL), tools(g), certify.Options{Cases: cases})
			if err != nil {
				t.Fatal(err)
			}
			if made++; report.Passed() {
				t.Errorf("a shop passes that compares the %s %s", field, way.name)
			} else {
				found++
			}
		}
	}
	t.Logf("%d of %d shops that compare loosely are found", found, made)
}

// TestRightShops: no right shop fails a case, whatever its Success URL holds and
// whichever ways release its orders.
func TestRightShops(t *testing.T) {
	g := start(t, "AGEGATE_WEBHOOK_ALLOW_NETS=192.0.2.0/24", "AGEGATE_TEST_DAILY_CAP=-1")
	server, handler := serve(t)
	c := register(t, g, server.URL)
	all := []certify.Way{certify.WayRedirect, certify.WayWebhook, certify.WayPolling}
	for _, tt := range []struct {
		name, number, mistake, language string
		ways                            []certify.Way
	}{
		{name: "an order number that it tells", number: "json", ways: all},
		{name: "an order number that it does not tell", number: "nowhere", ways: all},
		{name: "an order number, by redirect alone", number: "nowhere", ways: all[:1]},
		{name: "an order number that it tells, by redirect alone", number: "json", ways: all[:1]},
		{name: "a language of the page, and a number in the Cancel URL", number: "cancel", language: "?lang=de", ways: all},
		{name: "by webhook alone", mistake: "redirect.good", ways: all[1:2]},
		{name: reloading, mistake: reloading, ways: all}, {name: clearsCookie, mistake: clearsCookie, ways: all},
		{name: "by lookup alone", mistake: "redirect.good", ways: all[2:]},
	} {
		shop := &carelessShop{gateway: g.URL, now: g.Clock.Now, number: tt.number, mistake: tt.mistake,
			language: tt.language}
		shop.use(t, c.Test)
		*handler = shop
		target := targetOf(t, server.URL)
		target.SuccessURL, target.CancelURL, target.ReleasesOn = "", "", tt.ways
		report, err := attack(t, g, c, target, tools(g), certify.Options{})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if !report.Passed() {
			t.Errorf("%s:\n%s", tt.name, show(t, report))
		}
	}
}
