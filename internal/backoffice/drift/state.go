package drift

import (
	"slices"
	"time"
)

// State holds the references and how each family compares with its own. All
// replicas share one state, whose row is locked while it changes.
type State struct {
	Estimator string               `json:"estimator,omitempty"` // that the references are of; empty without any
	FrozenAt  *time.Time           `json:"frozen_at,omitempty"`
	Families  map[Family]*Standing `json:"families,omitempty"` // those with a reference
}

// Standing is how a family stands.
type Standing struct {
	Ages     Measure `json:"ages"`     // distribution of the estimates
	Outcomes Measure `json:"outcomes"` // how checks end
}

// Measure compares one distribution with its reference, window by window.
type Measure struct {
	Reference []int64    `json:"reference"`
	Window    []int64    `json:"window"` // the open one
	OpenedAt  *time.Time `json:"opened_at,omitempty"`

	// Of the last window that was judged.
	JudgedAt *time.Time `json:"judged_at,omitempty"`
	Judged   int64      `json:"judged"` // its counts
	Index    float64    `json:"index"`
	Warning  int        `json:"warning"` // how many windows in a row, up to it, were at Warn or over
	Distant  int        `json:"acting"`  // at Far or over; the name in JSON is that of 0.2
}

// Warned reports whether the last InARow windows were at Warn or over.
func (m Measure) Warned() bool { return m.Warning >= InARow }

// Far reports whether the last InARow windows were at Far or over.
func (m Measure) Far() bool { return m.Distant >= InARow }

// Known returns the number of counts of the reference.
func (m Measure) Known() int64 { return total(m.Reference) }

// add takes counts into the open window and judges it if it is complete.
func (m *Measure) add(counts []int64, at time.Time) (judged bool) {
	if total(counts) == 0 {
		return false
	}
	if m.OpenedAt == nil || len(m.Window) != len(counts) {
		m.OpenedAt, m.Window = &at, make([]int64, len(counts))
	}
	for i, n := range counts {
		m.Window[i] += n
	}
	n := total(m.Window)
	if n < MinWindow || at.Sub(*m.OpenedAt) < WindowTime {
		return false
	}
	m.Index = psi(m.Window, m.Reference)
	m.Judged = n
	m.JudgedAt = &at
	m.Warning, m.Distant = after(m.Warning, m.Index >= Warn), after(m.Distant, m.Index >= Far)
	m.OpenedAt, m.Window = nil, nil
	return true
}

// after returns how many windows in a row are over a limit, after one more window.
func after(inARow int, over bool) int {
	if over {
		return inARow + 1
	}
	return 0
}

// Event is a shift, which is logged once when it begins.
type Event struct {
	Family   Family
	Outcomes bool    // it is about how checks end, not about estimates
	Index    float64 // of the window
	N        int64   // counts of the window
	Far      bool    // estimates at Far or over; otherwise at Warn or over
}

// Observe takes counts of a family into account, at a time that does not go back,
// and returns the shifts that began. Counts of another estimator than the
// references' are not judged.
func (s *State) Observe(h Hour, at time.Time) (events []Event) {
	if s.Estimator == "" || h.Estimator != s.Estimator {
		return nil
	}
	for _, family := range []Family{h.Family, All} {
		standing := s.Families[family]
		if standing == nil {
			continue
		}
		warned := standing.Outcomes.Warned()
		if m := &standing.Outcomes; m.add(h.Outcomes[:], at) && m.Warned() && !warned {
			events = append(events, Event{Family: family, Outcomes: true, Index: m.Index, N: m.Judged})
		}
		m, before := &standing.Ages, standing.Ages
		if m.add(h.Ages[:], at) && (m.Far() && !before.Far() || m.Warned() && !before.Warned()) {
			events = append(events, Event{Family: family, Index: m.Index, N: m.Judged, Far: m.Far()})
		}
	}
	return events
}

// FarFamily returns a family whose estimates are Far from the reference, All
// before others, and empty where none are.
func (s *State) FarFamily() Family {
	for _, family := range append([]Family{All}, Families()...) {
		if standing := s.Families[family]; standing != nil && standing.Ages.Far() {
			return family
		}
	}
	return ""
}

// Freeze makes the references of an estimator from its hours. A family gets one
// from MinReference estimates on; the others only count for All.
func (s *State) Freeze(hours []Hour, estimator string, at time.Time) {
	sums := map[Family]Counts{}
	for _, h := range hours {
		if h.Estimator == estimator {
			sums[h.Family] = sums[h.Family].Add(h.Counts)
			sums[All] = sums[All].Add(h.Counts)
		}
	}
	s.Estimator = estimator
	s.FrozenAt = &at
	s.Families = map[Family]*Standing{}
	for family, sum := range sums {
		if sum.Estimates() >= MinReference {
			s.Families[family] = &Standing{
				Ages:     Measure{Reference: slices.Clone(sum.Ages[:])},
				Outcomes: Measure{Reference: slices.Clone(sum.Outcomes[:])},
			}
		}
	}
}
