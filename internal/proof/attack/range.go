package attack

import (
	"cmp"
	"context"
	"hash/fnv"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"agegate/internal/age"
	"agegate/internal/inference"
	"agegate/internal/proof/attack/puppet"
	"agegate/internal/vision"
)

// Goal is the largest share of errors allowed in any row.
const Goal = 0.05

// Row is what became of the presentations of one kind.
type Row struct {
	Species   string
	BonaFide  bool // a person, whose refusal is the error
	Beyond    bool // measured without a goal: the challenge cannot tell
	N         int
	Accepted  int
	Spoof     int           // refused as not live
	NoCapture int           // ended without a result
	Ended     int           // by a message that no honest page sends
	Median    time.Duration // of a bona fide person's time before the camera, if accepted
}

// Errors is the number of presentations that were classified wrongly:
// attacks accepted, or persons not accepted for whatever reason.
func (r Row) Errors() int {
	if r.BonaFide {
		return r.N - r.Accepted
	}
	return r.Accepted
}

// Rate is the row's APCER, or for persons the BPCER with the attempts that
// ended without a result counted as refusals.
func (r Row) Rate() float64 { return float64(r.Errors()) / float64(r.N) }

// Met reports whether the row keeps the goal.
func (r Row) Met() bool { return r.Beyond || r.Rate() <= Goal }

// Interval is the Clopper-Pearson 95 % confidence interval of the rate, from
// the quantiles of the beta distribution.
func (r Row) Interval() (low, high float64) {
	errors, n := float64(r.Errors()), float64(r.N)
	high = 1
	if errors > 0 {
		low = distuv.Beta{Alpha: errors, Beta: n - errors + 1}.Quantile(0.025)
	}
	if errors < n {
		high = distuv.Beta{Alpha: errors + 1, Beta: n - errors}.Quantile(0.975)
	}
	return low, high
}

// Range plays n presentations of every kind, or a multiple of n where luck
// decides more than skill, and returns the rows, worst first:
// persons, attacks, and those beyond the challenge. The same presentations
// are played in every run, as many as there is time for until the deadline, if
// it is not zero. progress may be nil.
func Range(ctx context.Context, models inference.Models, n int, deadline time.Time, progress func(done, total int)) ([]Row, error) {
	analyzer := vision.NewAnalyzer(models)
	person, stranger, err := puppet.Sample(ctx, analyzer)
	if err != nil {
		return nil, err
	}
	r := &shooting{cast: &cast{person, stranger}, engine: age.NewEngine(analyzer, age.ExpectedValue{}, nil), deadline: deadline}
	var all []species
	for _, group := range [][]species{bonaFide, attacks, beyond} {
		all = append(all, group...)
		for _, s := range group {
			r.rows = append(r.rows, Row{Species: s.name, BonaFide: &group[0] == &bonaFide[0], Beyond: &group[0] == &beyond[0]})
		}
	}
	for round := range n {
		for row, s := range all {
			times := max(oftener[s.name], 1)
			for i := range times {
				r.jobs = append(r.jobs, job{s, row, s.seed(round*times + i)})
			}
		}
	}
	r.round = len(r.jobs) / max(n, 1)
	if err := r.run(ctx, progress); err != nil {
		return nil, err
	}
	slices.SortStableFunc(r.rows, func(a, b Row) int {
		switch {
		case a.BonaFide != b.BonaFide:
			return order(a.BonaFide)
		case a.Beyond != b.Beyond:
			return order(b.Beyond)
		}
		return cmp.Compare(b.Rate(), a.Rate())
	})
	return r.rows, nil
}

func order(first bool) int {
	if first {
		return -1
	}
	return 1
}

// seed is that of the species' presentation i, whatever other species there are.
func (s species) seed(i int) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, s.name) // never fails
	return h.Sum64() + uint64(i)     //nolint:gosec // not negative
}

type job struct {
	species species
	row     int
	seed    uint64
}

// shooting is one run of the range.
type shooting struct {
	cast     *cast
	engine   *age.Engine
	jobs     []job
	round    int // jobs until every species has had its turn
	deadline time.Time

	mu    sync.Mutex
	rows  []Row
	times map[int][]time.Duration
	next  int
	err   error
}

// run plays all presentations on all cores.
func (r *shooting) run(ctx context.Context, progress func(done, total int)) error {
	r.times = map[int][]time.Duration{}
	var all sync.WaitGroup
	for range runtime.NumCPU() {
		all.Go(func() {
			for j, ok := r.take(progress); ok; j, ok = r.take(progress) {
				result, err := j.species.stage(r.cast, j.seed).play(ctx, r.engine)
				r.count(j.row, result, err)
			}
		})
	}
	all.Wait()
	for row, times := range r.times {
		slices.Sort(times)
		r.rows[row].Median = times[len(times)/2]
	}
	return r.err
}

// take hands out the next presentation.
func (r *shooting) take(progress func(done, total int)) (job, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	late := !r.deadline.IsZero() && time.Now().After(r.deadline)
	if r.err != nil || r.next == len(r.jobs) || late && r.next%r.round == 0 {
		return job{}, false
	}
	r.next++
	if progress != nil {
		progress(r.next, len(r.jobs))
	}
	return r.jobs[r.next-1], true
}

func (r *shooting) count(row int, result result, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.err = err
		return
	}
	to := &r.rows[row]
	to.N++
	switch {
	case result.accepted():
		to.Accepted++
		if to.BonaFide {
			r.times[row] = append(r.times[row], result.took)
		}
	case result.err != nil:
		to.Ended++
	case result.verdict == age.VerdictSpoof:
		to.Spoof++
	default:
		to.NoCapture++
	}
}
