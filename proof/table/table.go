// Package table keeps the tables of the harnesses that break the gateway
// (proof/chaos) and attack it (proof/security): one row per
// fault or attack, with the promised and the measured values. Their flag is
//
//	-full   every fault or attack at full size, all marks held
//
// The short form runs in `make test-all` beside other tests, where times depend on
// the machine more than on the gateway. There every mark of correctness is held
// as in the full run; a mark of time is measured and shown, but a miss fails
// the full run only. Every wait, in either form, is limited by HangLimit, which
// a healthy gateway never reaches.
package table

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// HangLimit is how long to wait for something that must happen. If it takes
// longer, the gateway hangs.
const HangLimit = 4 * time.Minute

var full = flag.Bool("full", false, "run everything at full size and hold the marks of time")

// Full reports whether this is the full run. Call it after the flags were parsed.
func Full() bool { return *full }

// Sized returns whole in the full run, otherwise short.
func Sized[T any](whole, short T) T {
	if *full {
		return whole
	}
	return short
}

// SideBySide lets n parallel tests of a package run at the same time, because they wait
// more than they compute. TestMain calls it after flag.Parse.
func SideBySide(n int) {
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err)
	}
}

// Beside runs a long test in parallel with others. In the full run, which holds times,
// it runs alone.
func Beside(t *testing.T) {
	if !Full() {
		t.Parallel()
	}
}

// Row is a fault or an attack and its marks.
type Row struct {
	t     *testing.T
	name  string
	did   string
	marks []mark
	start time.Time
	took  time.Duration
}

// mark is one promise and what was measured.
type mark struct{ name, want, got, result string }

var (
	mu    sync.Mutex
	table []*Row
)

// New opens a row, which is shown in the table however the test ends.
func New(t *testing.T, name string) *Row {
	t.Helper()
	r := &Row{t: t, name: name, start: time.Now()}
	mu.Lock()
	defer mu.Unlock()
	table = append(table, r)
	t.Cleanup(func() { r.took = time.Since(r.start) })
	return r
}

// Logf adds to the log of the test.
func (r *Row) Logf(format string, args ...any) {
	r.t.Helper()
	r.t.Logf(format, args...)
}

// Didf sets the text that says what was done to the gateway, and how often.
func (r *Row) Didf(format string, args ...any) { r.did = fmt.Sprintf(format, args...) }

// Mark records a mark and fails the test unless ok.
func (r *Row) Mark(name, want, got string, ok bool) {
	r.t.Helper()
	result := "ok"
	if !ok {
		result = "MISSED"
		r.t.Errorf("%s: %s, want %s", name, got, want)
	}
	r.marks = append(r.marks, mark{name, want, got, result})
}

// Timely is Mark for values that a busy machine can miss: they fail only the full
// run.
func (r *Row) Timely(name, want, got string, ok bool) {
	r.t.Helper()
	if ok || *full {
		r.Mark(name, want, got, ok)
		return
	}
	r.marks = append(r.marks, mark{name, want, got, "not held here"})
}

// Within is Timely for a duration under a limit.
func (r *Row) Within(name string, got, limit time.Duration) {
	r.t.Helper()
	r.Timely(name, "< "+limit.String(), got.Round(100*time.Microsecond).String(), got < limit)
}

// None marks that nothing was found; otherwise it logs the first findings.
func (r *Row) None(name string, found []string) {
	r.t.Helper()
	r.Mark(name, "0", fmt.Sprint(len(found)), len(found) == 0)
	r.log(found)
}

// TimelyNone is None for misses that a busy machine can cause.
func (r *Row) TimelyNone(name string, found []string) {
	r.t.Helper()
	r.Timely(name, "0", fmt.Sprint(len(found)), len(found) == 0)
	r.log(found)
}

// NoneButBusy is None for answers to honest users that were not good. Those with 503, with
// which a gateway on a busy machine turns requests away, count as in TimelyNone.
func (r *Row) NoneButBusy(name string, found []string) {
	r.t.Helper()
	busy := func(f string) bool { return strings.Contains(f, "503") }
	r.None(name, slices.DeleteFunc(slices.Clone(found), busy))
	r.TimelyNone(name+", with 503 as well", found)
}

func (r *Row) log(found []string) {
	r.t.Helper()
	for _, f := range found[:min(len(found), 5)] {
		r.t.Log("  ", f)
	}
}

// Print writes the table, sorted by the rows' names.
func Print(w io.Writer) {
	if len(table) == 0 {
		return
	}
	slices.SortStableFunc(table, func(a, b *Row) int { return strings.Compare(a.name, b.name) })
	const line = "%-60s %-10s %-10s %s\n"
	passed := 0
	fmt.Fprintf(w, "\n"+line, "TRIED / MARK", "WANT", "MEASURED", "RESULT")
	for _, r := range table {
		result := "FAIL"
		if !r.t.Failed() {
			result = "pass"
			passed++
		}
		fmt.Fprintf(w, "\n"+line, r.name, "", r.took.Round(time.Second), result)
		fmt.Fprintf(w, "  %s\n", r.did)
		for _, m := range r.marks {
			fmt.Fprintf(w, "  "+line, m.name, m.want, m.got, m.result)
		}
	}
	fmt.Fprintf(w, "\n%d of %d passed\n", passed, len(table))
}
