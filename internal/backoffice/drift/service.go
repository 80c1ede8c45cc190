package drift

import (
	"context"
	"log/slog"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
)

// Store keeps the state and the hours.
type Store interface {
	// UpdateDrift runs fn in a transaction that holds the lock of the state, saves
	// what fn changes of it, and writes the act that fn returns, unless that is nil.
	UpdateDrift(ctx context.Context, fn func(tx Tx, s *State) (*audit.Act, error)) error
	// DriftState returns the state.
	DriftState(ctx context.Context) (State, error)
	// DriftHours returns the hours that begin at or after since, newest first.
	DriftHours(ctx context.Context, since time.Time) ([]Hour, error)
	// PruneDrift deletes the hours that begin before a time.
	PruneDrift(ctx context.Context, before time.Time) error
}

// Tx is a transaction that holds the lock of the state.
type Tx interface {
	// AddDriftHour adds counts to those of the hour.
	AddDriftHour(h Hour) error
	// DriftHours returns the hours that begin at or after since.
	DriftHours(since time.Time) ([]Hour, error)
}

// Config is what a Service needs besides its store.
type Config struct {
	Estimator string // fingerprint of this process's; empty where it makes no checks
	Now       func() time.Time
	Logger    *slog.Logger // nil discards
}

// Service counts the checks of a process, and compares the counts of all replicas
// with the reference. It is safe for concurrent use and holds a fixed number of
// counts.
type Service struct {
	cfg   Config
	store Store
	state atomic.Pointer[State]

	mu     sync.Mutex
	counts map[Family]Counts // that wait to be written
}

// NewService returns a service over a store.
func NewService(store Store, cfg Config) *Service {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{cfg: cfg, store: store, counts: map[Family]Counts{}}
	s.state.Store(&State{})
	return s
}

// Count counts a check of a family that ended with an outcome; years is its
// estimate, for Estimated. It does not wait for the database.
func (s *Service) Count(f Family, o Outcome, years float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts[f]
	c.Outcomes[o]++
	if o == Estimated {
		c.Ages[bin(years)]++
	}
	s.counts[f] = c
}

// Known returns the state as last read. It must not be changed.
func (s *Service) Known() State { return *s.state.Load() }

// Refresh reads the state that the replicas share. If that fails, Known returns
// the state read before.
func (s *Service) Refresh(ctx context.Context) error {
	state, err := s.store.DriftState(ctx)
	if err == nil {
		s.state.Store(&state)
	}
	return err
}

// Hours returns the counts of the last hours, newest first.
func (s *Service) Hours(ctx context.Context, last time.Duration) ([]Hour, error) {
	return s.store.DriftHours(ctx, s.cfg.Now().Add(-last).Truncate(time.Hour))
}

// Prune deletes the hours that are too old.
func (s *Service) Prune(ctx context.Context) error {
	return s.store.PruneDrift(ctx, s.cfg.Now().Add(-Kept))
}

// Flush writes the counts of each family that has at least MinGroup and logs the
// shifts that they show. The other counts wait.
func (s *Service) Flush(ctx context.Context) error {
	for _, family := range Families() {
		ready := s.take(family)
		if ready == (Counts{}) {
			continue
		}
		if err := s.write(ctx, family, ready); err != nil {
			s.putBack(family, ready)
			return err
		}
	}
	return nil
}

func (s *Service) take(f Family) Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	ready, waiting := s.counts[f].ready()
	s.counts[f] = waiting
	return ready
}

func (s *Service) putBack(f Family, c Counts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[f] = s.counts[f].Add(c)
}

// write adds counts to their hour and judges them, on the locked state: of all
// replicas, the one whose counts complete a window logs the shift.
func (s *Service) write(ctx context.Context, family Family, counts Counts) error {
	now := s.cfg.Now()
	h := Hour{Hour: now.Truncate(time.Hour), Family: family, Estimator: s.cfg.Estimator, Counts: counts}
	var events []Event
	err := s.store.UpdateDrift(ctx, func(tx Tx, state *State) (*audit.Act, error) {
		if err := tx.AddDriftHour(h); err != nil {
			return nil, err
		}
		events = state.Observe(h, now)
		return nil, nil
	})
	if err != nil {
		return err
	}
	for _, e := range events {
		s.tell(e)
	}
	return s.Refresh(ctx)
}

func (s *Service) tell(e Event) {
	of := "estimates"
	if e.Outcomes {
		of = "outcomes"
	}
	log := s.cfg.Logger.With("browsers", e.Family, "of", of, "index", Index(e.Index), "counts", e.N)
	if e.Far {
		log.Error("drift: the estimates are far from their reference; see agegate drift")
		return
	}
	log.Warn("drift: the camera check differs from its reference")
}

// Index writes a stability index.
func Index(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }

// ErrTooFew is returned where the hours hold too few estimates for a reference.
var ErrTooFew = fault.New(fault.Conflict, "too few estimates for a reference: at least "+strconv.Itoa(MinReference)+
	" of the models in use are needed; freeze again later")

// Freeze makes the references of an estimator from the hours of the last time, for
// a person, and returns the new state. It returns ErrTooFew.
func (s *Service) Freeze(ctx context.Context, actor audit.Actor, last time.Duration) (State, error) {
	now := s.cfg.Now()
	err := s.store.UpdateDrift(ctx, func(tx Tx, state *State) (*audit.Act, error) {
		hours, err := tx.DriftHours(now.Add(-last).Truncate(time.Hour))
		if err != nil {
			return nil, err
		}
		state.Freeze(hours, s.cfg.Estimator, now)
		all := state.Families[All]
		if all == nil {
			return nil, ErrTooFew
		}
		return &audit.Act{
			Scope: audit.Instance, At: now, Actor: actor, Action: audit.DriftFreeze,
			Detail: audit.Detail{Params: map[string]string{
				"estimator": s.cfg.Estimator, "estimates": strconv.FormatInt(all.Ages.Known(), 10),
				"days": strconv.Itoa(int(math.Round(last.Hours() / 24))),
			}},
		}, nil
	})
	if err != nil {
		return State{}, err
	}
	err = s.Refresh(ctx)
	return s.Known(), err
}
