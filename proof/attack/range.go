package attack

import (
	"cmp"
	"context"
	"hash/fnv"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"agegate/internal/check/age"
	"agegate/internal/check/inference"
	"agegate/internal/check/photographic"
	"agegate/internal/check/vision"
	"agegate/proof/attack/puppet"
)

// Goal is the largest share of errors allowed in a row that has no goal of its
// own.
const Goal = 0.05

// Marks for honest checks: medians over the persons who follow the prompts.
const (
	MaxTime   = 8 * time.Second // in front of the camera
	MaxFrames = 40
	MaxBytes  = 500_000 // of the frames' JPEGs
)

// presentations returns how many of the species are played where n of each kind are, and
// large of those marked large: 16 for 30 of a person whose body differs.
func (s species) presentations(n, large int) int {
	switch {
	case s.large:
		return max(n, large)
	case s.body:
		return max(1, n*16/30)
	}
	return n
}

// Row counts the results of the presentations of one kind.
type Row struct {
	Species   string
	BonaFide  bool // a person; a refusal is the error
	Beyond    bool // measured without a goal, because the challenge cannot detect it
	N         int
	Accepted  int
	Spoof     int           // refused as not live
	NoCapture int           // ended without a result
	Body      bool          // a person whose body differs; one of a row may be taken for a spoof, by the passive scores
	Sat       int           // persons who took the mode without head turns after a check without a result
	Ended     int           // ended because of a message that no honest page sends
	Goal      float64       // the largest allowed rate; negative if no error is allowed
	Median    time.Duration // of an accepted person's time in front of the camera
	Frames    int           // median number of frames of such a person
	Bytes     int
}

// Errors is the number of presentations classified wrongly: attacks that were
// accepted, or persons who were not, for any reason.
func (r Row) Errors() int {
	if r.BonaFide {
		return r.N - r.Accepted
	}
	return r.Accepted
}

// Rate is the row's APCER; for persons it is the BPCER, in which attempts without
// a result count as refusals.
func (r Row) Rate() float64 { return float64(r.Errors()) / float64(r.N) }

// Met reports whether the row keeps its goal and its marks. Without presentations
// it is false.
func (r Row) Met() bool {
	if r.Species == follower && (r.Median > MaxTime || r.Frames > MaxFrames || r.Bytes > MaxBytes) {
		return false
	}
	return r.Beyond || r.N > 0 && r.Rate() <= max(r.Goal, 0) && (!r.Body || r.Spoof <= 1)
}

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

// Range plays n presentations of every kind whose name contains only, or large of
// the kinds marked large, or about half as many of persons whose bodies differ. It
// returns the rows, worst first: persons, attacks, and those beyond the challenge. Every
// run plays the same presentations. If deadline is not zero, the run ends then. progress
// may be nil.
func Range(
	ctx context.Context, models *inference.Pool, only string, n, large int, deadline time.Time,
	progress func(done, total int),
) ([]Row, error) {
	analyzer := vision.NewAnalyzer(models)
	person, stranger, err := puppet.Sample(ctx, analyzer)
	if err != nil {
		return nil, err
	}
	gate, err := photographic.Load(models.Manifest)
	if err != nil {
		return nil, err
	}
	all, rows := everySpecies(only)
	r := &shooting{
		cast:   &cast{person, stranger, analyzer},
		engine: age.NewEngine(analyzer, age.Tuned{}, nil).Refusing(gate), deadline: deadline, rows: rows,
	}
	// Whole rounds of all species, so that a deadline shortens all of them
	// equally.
	for i := range max(n, large) {
		for row, s := range all {
			if i < s.presentations(n, large) {
				r.jobs = append(r.jobs, job{s, row, s.seed(i)})
			}
		}
	}
	if err := r.run(ctx, progress); err != nil {
		return nil, err
	}
	slices.SortStableFunc(r.rows, func(a, b Row) int {
		switch {
		case a.BonaFide != b.BonaFide:
			return order(a.BonaFide)
		case a.Beyond != b.Beyond:
			return order(b.Beyond)
		case a.Body != b.Body:
			return order(b.Body)
		}
		return cmp.Compare(b.Rate(), a.Rate())
	})
	return r.rows, nil
}

// everySpecies returns the species whose name contains only, and a row for each.
func everySpecies(only string) (all []species, rows []Row) {
	for i, group := range [][]species{bonaFide, bodies, attacks, beyond} {
		for _, s := range group {
			if strings.Contains(s.name, only) {
				all = append(all, s)
				rows = append(rows, Row{
					Species: s.name, Goal: cmp.Or(s.goal, Goal), BonaFide: i < 2, Body: s.body, Beyond: i == 3,
				})
			}
		}
	}
	return all, rows
}

func order(first bool) int {
	if first {
		return -1
	}
	return 1
}

// seed returns the seed for presentation i of the species. It does not depend on
// the other species.
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
	deadline time.Time

	mu   sync.Mutex
	rows []Row
	sent map[int][]result // results of the accepted persons, by row
	next int
	err  error
}

// run plays all presentations on all cores.
func (r *shooting) run(ctx context.Context, progress func(done, total int)) error {
	r.sent = map[int][]result{}
	var all sync.WaitGroup
	for range runtime.NumCPU() {
		all.Go(func() {
			for j, ok := r.take(progress); ok; j, ok = r.take(progress) {
				result, sat, err := j.species.play(ctx, r.cast, j.seed, r.engine)
				r.count(j.row, result, sat, err)
			}
		})
	}
	all.Wait()
	for row, sent := range r.sent {
		median := func(value func(result) int) int {
			slices.SortFunc(sent, func(a, b result) int { return cmp.Compare(value(a), value(b)) })
			return value(sent[len(sent)/2])
		}
		to := &r.rows[row]
		to.Median = time.Duration(median(func(s result) int { return int(s.took) }))
		to.Frames = median(func(s result) int { return s.frames })
		to.Bytes = median(func(s result) int { return s.bytes })
	}
	return r.err
}

// take hands out the next presentation.
func (r *shooting) take(progress func(done, total int)) (job, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	late := !r.deadline.IsZero() && time.Now().After(r.deadline)
	if r.err != nil || r.next == len(r.jobs) || late {
		return job{}, false
	}
	r.next++
	if progress != nil {
		progress(r.next, len(r.jobs))
	}
	return r.jobs[r.next-1], true
}

func (r *shooting) count(row int, result result, sat bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.err = err
		return
	}
	to := &r.rows[row]
	to.N++
	if sat {
		to.Sat++
	}
	switch {
	case result.accepted():
		to.Accepted++
		if to.BonaFide {
			r.sent[row] = append(r.sent[row], result)
		}
	case result.err != nil:
		to.Ended++
	case result.verdict == age.VerdictSpoof:
		to.Spoof++
	default:
		to.NoCapture++
	}
}
