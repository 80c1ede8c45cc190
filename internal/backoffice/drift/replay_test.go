package drift

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"agegate/internal/rules/audit"
)

// memory is a store for one process that replays streams.
type memory struct {
	state State
	hours []Hour
	acts  []audit.Act
}

func (m *memory) UpdateDrift(_ context.Context, fn func(Tx, *State) (*audit.Act, error)) error {
	act, err := fn(m, &m.state)
	if act != nil {
		m.acts = append(m.acts, *act)
	}
	return err
}
func (m *memory) DriftState(context.Context) (State, error) { return m.state, nil }
func (m *memory) AddDriftHour(h Hour) error                 { m.hours = append(m.hours, h); return nil }
func (m *memory) DriftHours(time.Time) ([]Hour, error)      { return m.hours, nil }
func (m *memory) PruneDrift(context.Context, time.Time) error {
	m.hours = nil
	return nil
}

// memoryStore makes memory a Store: a Tx has the method without a context.
type memoryStore struct{ *memory }

func (m memoryStore) DriftHours(context.Context, time.Time) ([]Hour, error) { return m.hours, nil }

// shares are how many of a hundred checks come from each family.
var shares = []struct {
	family Family
	share  int
}{{ChromeAndroid, 42}, {SafariIOS, 30}, {ChromeDesktop, 10}, {Samsung, 7}, {SafariMac, 4}, {Edge, 3}, {Firefox, 3},
	{Other, 1}}

// stream is simulated traffic of three replicas: estimates of an audience that is
// younger in the afternoon and on weekends, whose size changes with the hour.
type stream struct {
	random   *rand.Rand
	now      time.Time
	store    *memory
	replicas [3]*Service
	perHour  int                                         // checks, on average
	change   func(f Family, years float64) (out float64) // what shifts estimates; nil: nothing
}

func newStream(seed uint64, perHour int) *stream {
	s := &stream{random: rand.New(rand.NewPCG(seed, 27)), now: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC),
		store: &memory{}, perHour: perHour}
	for i := range s.replicas {
		s.replicas[i] = NewService(memoryStore{s.store},
			Config{Estimator: "e", Now: func() time.Time { return s.now }})
	}
	return s
}

// byHour is how many checks an hour of the day has, in hundredths of the average.
var byHour = [24]int{60, 40, 30, 20, 20, 30, 40, 60, 80, 90, 100, 110, 120, 120, 120, 130, 140, 150, 160, 170, 170, 160,
	140, 140}

// minute replays a minute.
func (s *stream) minute(t testing.TB) {
	hour := s.now.Hour()
	n := s.perHour * byHour[hour] / 100 / 60
	younger := 0.0
	if hour >= 14 && hour < 18 {
		younger++ // school is over
	}
	if day := s.now.Weekday(); day == time.Saturday || day == time.Sunday {
		younger++
	}
	for range n {
		s.check(younger)
	}
	s.now = s.now.Add(time.Minute)
	for _, r := range s.replicas {
		if err := r.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// check replays one check: nine of a hundred end without an estimate.
func (s *stream) check(younger float64) {
	family, at := Other, s.random.IntN(100)
	for _, of := range shares {
		if at -= of.share; at < 0 {
			family = of.family
			break
		}
	}
	replica := s.replicas[s.random.IntN(len(s.replicas))]
	switch end := s.random.IntN(100); {
	case end < 3:
		replica.Count(family, Unusable, 0)
	case end < 4:
		replica.Count(family, NotLive, 0)
	case end < 9:
		replica.Count(family, Left, 0)
	default:
		replica.Count(family, Estimated, s.estimate(family, younger))
	}
}

// estimate is that of a person: two in three are of a younger crowd.
func (s *stream) estimate(f Family, younger float64) float64 {
	years := 23 + 5*s.random.NormFloat64()
	if s.random.IntN(3) == 0 {
		years = 37 + 10*s.random.NormFloat64()
	}
	if years -= younger; s.change != nil {
		years = s.change(f, years)
	}
	return max(years, 0)
}

// freeze replays a week and freezes it as the reference.
func (s *stream) freeze(t testing.TB) {
	t.Helper()
	for range 7 * 24 * 60 {
		s.minute(t)
	}
	if _, err := s.replicas[0].Freeze(t.Context(), audit.System("test"), 7*24*time.Hour); err != nil {
		t.Fatal(err)
	}
}

// warnings counts the measures that are at Warn or over.
func (s *stream) warnings() (n int) {
	for _, standing := range s.store.state.Families {
		for _, m := range []Measure{standing.Ages, standing.Outcomes} {
			if m.Warned() {
				n++
			}
		}
	}
	return n
}

// TestReplayOfShifts: with 6,000 checks an hour, a shift at any hour is found far
// from the reference within the hour after it.
func TestReplayOfShifts(t *testing.T) {
	only := func(family Family, shift func(float64) float64) func(Family, float64) float64 {
		return func(f Family, years float64) float64 {
			if f == family {
				return shift(years)
			}
			return years
		}
	}
	injected := rand.New(rand.NewPCG(5, 5))
	for _, row := range []struct {
		name   string
		change func(f Family, years float64) float64
		far    bool // 0.25 and over
		small  bool // no alarm is due, a warning is no fault
	}{
		{"no shift", nil, false, false},
		{"1 year older, everywhere", func(_ Family, y float64) float64 { return y + 1 }, false, true},
		{"2 years older, everywhere", func(_ Family, y float64) float64 { return y + 2 }, false, true},
		{"5 years older, everywhere", func(_ Family, y float64) float64 { return y + 5 }, true, false},
		{"5 years younger, everywhere", func(_ Family, y float64) float64 { return y - 5 }, true, false},
		{"5 years older, Chrome on Android", only(ChromeAndroid, func(y float64) float64 { return y + 5 }), true, false},
		{"everybody is 32, Safari on iOS", only(SafariIOS, func(float64) float64 { return 32 }), true, false},
		{"one in three is a picture of a man of 45", func(_ Family, y float64) float64 {
			if injected.IntN(3) == 0 {
				return 45 + injected.NormFloat64()
			}
			return y
		}, true, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			for seed, hour := range []int{0, 9, 20} {
				s := newStream(uint64(seed), 6000)
				s.freeze(t)
				for range (24 + hour) * 60 { // a usual day, then to the hour of the shift
					s.minute(t)
				}
				if s.store.state.FarFamily() != "" || s.warnings() != 0 {
					t.Fatalf("at %d h: an alarm before the shift", hour)
				}
				s.change = row.change
				warned, far, from := 0, 0, s.now
				for range 3 * 60 {
					s.minute(t)
					took := int(s.now.Sub(from).Minutes())
					if s.warnings() > 0 && warned == 0 {
						warned = took
					}
					if s.store.state.FarFamily() != "" && far == 0 {
						far = took
					}
				}
				t.Logf("shift at %02d h: warned after %d min, far after %d min, index %.2f",
					hour, warned, far, s.store.state.Families[All].Ages.Index)
				if row.far != (far > 0) || !row.far && !row.small && warned > 0 {
					t.Errorf("far %d, warned %d", far, warned)
				}
				if far > 60 {
					t.Error("not within the hour")
				}
				if n := len(s.store.acts); n != 1 { // the freeze
					t.Errorf("%d entries", n)
				}
			}
		})
	}
}

// TestFalseAlarms replays a year, in months, without a shift, at three sizes.
func TestFalseAlarms(t *testing.T) {
	const months = 4
	for _, perHour := range []int{300, 1500, 6000} {
		warned, far := 0, 0
		for month := range uint64(months) {
			s := newStream(1000+month, perHour)
			s.freeze(t)
			before := 0
			for range 30 * 24 * 60 {
				s.minute(t)
				now := s.warnings()
				warned += max(0, now-before)
				before = now
			}
			if s.store.state.FarFamily() != "" {
				far++
			}
		}
		t.Logf("%d checks an hour: %d warnings and %d far in %d months", perHour, warned, far, months)
		if far > 0 || warned >= months {
			t.Errorf("%d checks an hour: %d warnings and %d far in %d months", perHour, warned, far, months)
		}
	}
}
