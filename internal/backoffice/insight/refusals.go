package insight

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Limits of what is stored about refused requests.
const (
	RefusalsKept   = 7 * day
	maxRefusals    = 500   // rows of a tenant and mode
	maxWaiting     = 100   // rows of a tenant and mode that wait to be written
	maxWaitingAll  = 20000 // of all tenants
	maxRefusalText = 100   // bytes of each text
)

// Refusal is an API request that was refused with a 4xx status. It holds no input.
type Refusal struct {
	Scope
	Route  string // method and pattern
	Status int
	Type   string    // of the error
	Loc    string    // of the field, such as "body.success_url"; empty without a field
	KeyID  uuid.UUID // the key used; the zero UUID if unknown
}

// RefusalCount is how often a refusal happened in one minute.
type RefusalCount struct {
	Refusal
	Minute    time.Time
	N         int64
	RequestID string // ID of the last refused request
}

// RefusalStore stores counts of refusals.
type RefusalStore interface {
	// AddRefusals adds counts of one scope to those stored, and deletes the oldest beyond keep.
	AddRefusals(ctx context.Context, scope Scope, counts []RefusalCount, keep int) error
	// Refusals returns the scope's counts at or after since, newest first.
	Refusals(ctx context.Context, scope Scope, since time.Time) ([]RefusalCount, error)
	// PruneRefusals deletes up to limit counts older than a time and returns how many.
	PruneRefusals(ctx context.Context, before time.Time, limit int) (int, error)
}

// Refusals returns the scope's refused requests of the last seven days, newest
// first. The newest may be missing for some seconds.
func (s *Service) Refusals(ctx context.Context, scope Scope) ([]RefusalCount, error) {
	return s.store.Refusals(ctx, scope, s.now().Add(-RefusalsKept))
}

// PruneRefusals deletes up to limit counts that are too old, and returns how many.
func (s *Service) PruneRefusals(ctx context.Context, now time.Time, limit int) (int, error) {
	return s.store.PruneRefusals(ctx, now.Add(-RefusalsKept), limit)
}

// Recorder counts refusals in memory until they are written. It is safe for concurrent use. It holds a limited number
// for each tenant and mode: a tenant whose requests are refused in very many ways loses only its own counts.
type Recorder struct {
	store RefusalStore
	now   func() time.Time
	mu    sync.Mutex
	size  int
	wait  map[Scope]map[minuteRefusal]waiting
}

type minuteRefusal struct {
	Refusal
	minute int64
}

type waiting struct {
	n         int64
	requestID string
}

// NewRecorder returns a recorder that writes to a store.
func NewRecorder(store RefusalStore, now func() time.Time) *Recorder {
	return &Recorder{store: store, now: now, wait: map[Scope]map[minuteRefusal]waiting{}}
}

// Record counts a refusal. It does not wait for the database.
func (r *Recorder) Record(f Refusal, requestID string) {
	f.Route = clip(f.Route)
	f.Type = clip(f.Type)
	f.Loc = clip(f.Loc)
	r.add(minuteRefusal{f, number(r.now(), time.Minute)}, waiting{1, clip(requestID)})
}

func clip(s string) string { return s[:min(len(s), maxRefusalText)] }

func (r *Recorder) add(key minuteRefusal, w waiting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.wait[key.Scope]
	known, ok := own[key]
	if !ok && (len(own) >= maxWaiting || r.size >= maxWaitingAll) {
		return
	}
	if own == nil {
		own = map[minuteRefusal]waiting{}
		r.wait[key.Scope] = own
	}
	if !ok {
		r.size++
	}
	own[key] = waiting{known.n + w.n, w.requestID}
}

// Flush writes what has been counted, in one transaction per tenant and mode.
// Counts that could not be written are kept for the next Flush.
func (r *Recorder) Flush(ctx context.Context) error {
	r.mu.Lock()
	all := r.wait
	r.wait, r.size = map[Scope]map[minuteRefusal]waiting{}, 0
	r.mu.Unlock()
	var failed error
	for scope, own := range all {
		if failed == nil {
			failed = r.store.AddRefusals(ctx, scope, countsOf(own), maxRefusals)
		}
		if failed != nil {
			for key, w := range own {
				r.add(key, w)
			}
		}
	}
	return failed
}

func countsOf(own map[minuteRefusal]waiting) []RefusalCount {
	list := make([]RefusalCount, 0, len(own))
	for key, w := range own {
		list = append(list, RefusalCount{Refusal: key.Refusal, Minute: start(key.minute, time.Minute), N: w.n,
			RequestID: w.requestID})
	}
	return list
}
