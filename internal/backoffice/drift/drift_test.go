package drift

import (
	"math"
	"testing"
	"time"
)

func TestFamilyOf(t *testing.T) {
	const webkit = " AppleWebKit/537.36 (KHTML, like Gecko) "
	for agent, want := range map[string]Family{
		"Mozilla/5.0 (Linux; Android 10; K)" + webkit +
			"Chrome/140.0.0.0 Mobile Safari/537.36": ChromeAndroid,
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64)" + webkit +
			"Chrome/140.0.0.0 Safari/537.36": ChromeDesktop,
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64)" + webkit + "Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0": Edge,
		"Mozilla/5.0 (Linux; Android 10; K)" + webkit +
			"SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36": Samsung,
		"Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0":                                       Firefox,
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 Version/26.0 Mobile Safari/604.1": SafariIOS,
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 CriOS/140.0 Mobile Safari/604.1":  SafariIOS,
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/26.0 Safari/605.1.15":            SafariMac,
		"Mozilla/5.0 (Windows NT 10.0)" + webkit + "Chrome/140.0.0.0 Safari/537.36 OPR/124.0":                          Other,
		"curl/8.0": Other, "": Other,
	} {
		if got := FamilyOf(agent); got != want {
			t.Errorf("%q: %s, want %s", agent, got, want)
		}
	}
}

func TestIndex(t *testing.T) {
	for _, row := range []struct {
		name              string
		counts, reference []int64
		least, most       float64
	}{
		{"the same", []int64{50, 50}, []int64{500, 500}, 0, .001},
		// (0.6-0.5) ln(0.6/0.5) + (0.4-0.5) ln(0.4/0.5)
		{"a tenth moved", []int64{600_000, 400_000}, []int64{500_000, 500_000}, .04054, .04056},
		{"an empty bin is finite", []int64{100, 0}, []int64{500, 500}, 1, 10},
		{"a bin that the reference has not", []int64{50, 50}, []int64{1000, 0}, 1, 10},
	} {
		if got := psi(row.counts, row.reference); !(got >= row.least && got <= row.most) {
			t.Errorf("%s: %f", row.name, got)
		}
	}
}

func TestBins(t *testing.T) {
	for years, want := range map[float64]int{0: 0, 13.9: 0, 14: 1, 24.9: 3, 25: 4, 59.9: 8, 60: 9, 120: 9} {
		if got := bin(years); got != want {
			t.Errorf("%v years: bin %d, want %d", years, got, want)
		}
	}
}

// TestWhatIsFar: two windows in a row must be over the limit and must have enough
// estimates. Each shift is reported once.
func TestWhatIsFar(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	usual, shifted := Counts{Ages: [Bins]int64{3: 400, 4: 400, 5: 200}}, Counts{Ages: [Bins]int64{3: 100, 4: 300, 5: 600}}
	small := Counts{Ages: [Bins]int64{3: 10, 4: 30, 5: 60}}
	for _, row := range []struct {
		name    string
		windows []Counts
		far     bool
	}{
		{"one", []Counts{shifted}, false},
		{"two", []Counts{shifted, shifted}, true},
		{"four", []Counts{shifted, shifted, shifted, shifted}, true},
		{"one between", []Counts{shifted, usual, shifted}, false},
		{"too few", []Counts{small, small, small, small}, false},
		{"usual", []Counts{usual, usual, usual}, false},
		{"other models", []Counts{shifted, shifted}, false},
	} {
		state, at, told, estimator := State{}, start, 0, "e"
		state.Freeze([]Hour{{Family: Edge, Estimator: "e", Counts: usual.Add(usual).Add(usual)}}, "e", at)
		if row.name == "other models" {
			estimator = "new"
		}
		observe := func(c Counts) {
			for _, e := range state.Observe(Hour{Family: Edge, Estimator: estimator, Counts: c}, at) {
				if e.Far {
					told++
				}
			}
		}
		for _, c := range row.windows {
			// A window is complete once it is old enough: its last estimates make it so.
			observe(Counts{Ages: [Bins]int64{4: 1}})
			at = at.Add(WindowTime)
			observe(c)
		}
		if got := state.FarFamily(); (got == All) != row.far {
			t.Errorf("%s: far %q", row.name, got)
		}
		if want := map[bool]int{true: 2}[row.far]; told != want { // of all browsers and of Edge
			t.Errorf("%s: told %d times, want %d", row.name, told, want)
		}
	}
}

func TestOnlyGroupsLeaveTheMemory(t *testing.T) {
	for _, row := range []struct {
		checks, estimates         int64
		readyChecks, readyOfThose int64
	}{{49, 49, 0, 0}, {50, 49, 50, 0}, {50, 50, 50, 50}, {400, 3, 400, 0}} {
		c := Counts{}
		c.Ages[4], c.Outcomes[Estimated], c.Outcomes[NotLive] = row.estimates, row.estimates, row.checks-row.estimates
		ready, waiting := c.ready()
		if ready.Checks() != row.readyChecks || ready.Estimates() != row.readyOfThose {
			t.Errorf("%+v: ready %+v", row, ready)
		}
		if ready.Add(waiting) != c {
			t.Errorf("%+v: something was lost", row)
		}
	}
}

func TestFreezeNeedsEnough(t *testing.T) {
	state := State{}
	enough, few := Counts{}, Counts{}
	enough.Ages[4], few.Ages[4] = MinReference, MinReference-1
	state.Freeze([]Hour{
		{Family: Edge, Estimator: "e", Counts: enough}, {Family: Firefox, Estimator: "e", Counts: few},
		{Family: Samsung, Estimator: "old", Counts: enough},
	}, "e", time.Time{})
	if len(state.Families) != 2 || state.Families[Edge] == nil || state.Families[All].Ages.Known() != 2*MinReference-1 {
		t.Errorf("references of %v", state.Families)
	}
	if math.Abs(psi(state.Families[Edge].Ages.Reference, enough.Ages[:])) > 1e-9 {
		t.Error("the reference is not what was counted")
	}
}
