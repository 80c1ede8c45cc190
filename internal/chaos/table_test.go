//go:build linux

package chaos

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// report is one row of the table: a fault on a database and its marks.
type report struct {
	t        *testing.T
	fault    string
	database string
	done     string
	marks    []mark
	start    time.Time
	took     time.Duration
}

// mark is one promise and what was measured.
type mark struct {
	name, want, got string
	ok              bool
}

var (
	tableMu sync.Mutex
	table   []*report
)

// newReport opens a row, which the table shows however the test ends.
func newReport(t *testing.T, fault string, db database) *report {
	r := &report{t: t, fault: fault, database: db.name, start: time.Now()}
	tableMu.Lock()
	defer tableMu.Unlock()
	table = append(table, r)
	t.Cleanup(func() { r.took = time.Since(r.start) })
	return r
}

// didf says what was done to the gateway.
func (r *report) didf(format string, args ...any) { r.done = fmt.Sprintf(format, args...) }

func (r *report) mark(name, want, got string, ok bool) {
	r.t.Helper()
	r.marks = append(r.marks, mark{name, want, got, ok})
	if !ok {
		r.t.Errorf("%s: %s, want %s", name, got, want)
	}
}

// none marks that a count is zero; details say what was counted.
func (r *report) none(name string, details []string) {
	r.t.Helper()
	r.mark(name, "0", fmt.Sprint(len(details)), len(details) == 0)
	for _, d := range details[:min(len(details), 5)] {
		r.t.Log("  ", d)
	}
}

// within marks that a duration stays under a limit. Only the full run fails
// for it.
func (r *report) within(name string, got, limit time.Duration) {
	r.t.Helper()
	shown := got.Round(time.Millisecond).String()
	if !*full && got >= limit {
		shown += " (not held here)"
	}
	r.mark(name, "< "+limit.String(), shown, got < limit || !*full)
}

func printTable(w io.Writer) {
	if len(table) == 0 {
		return
	}
	slices.SortStableFunc(table, func(a, b *report) int {
		return strings.Compare(a.fault+a.database, b.fault+b.database)
	})
	missed := 0
	fmt.Fprintf(w, "\n%-44s %-12s %-10s %-10s %s\n", "FAULT / MARK", "DATABASE", "WANT", "MEASURED", "RESULT")
	for _, r := range table {
		result := "pass"
		if r.t.Failed() {
			result = "FAIL"
			missed++
		}
		fmt.Fprintf(w, "\n%-44s %-12s %-10s %-10s %s\n", r.fault, r.database, "", r.took.Round(time.Second), result)
		fmt.Fprintf(w, "  %s\n", r.done)
		for _, m := range r.marks {
			verdict := "ok"
			if !m.ok {
				verdict = "MISSED"
			}
			fmt.Fprintf(w, "  %-55s %-10s %-10s %s\n", m.name, m.want, m.got, verdict)
		}
	}
	fmt.Fprintf(w, "\n%d of %d passed\n", len(table)-missed, len(table))
}
