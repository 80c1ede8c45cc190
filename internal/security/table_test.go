package security

import (
	"fmt"
	"io"
	"sync"
	"testing"
	"time"
)

// row is one line of the table: an attack, how often it was made, and marks.
type row struct {
	t      *testing.T
	attack string
	count  int
	marks  []mark
	start  time.Time
	took   time.Duration
}

// mark is one promise and what was measured.
type mark struct {
	name, want, got string
	ok              bool
}

var (
	tableMu sync.Mutex
	table   []*row
)

// newRow opens a line, which the table shows however the test ends.
func newRow(t *testing.T, attack string) *row {
	r := &row{t: t, attack: attack, start: time.Now()}
	tableMu.Lock()
	defer tableMu.Unlock()
	table = append(table, r)
	t.Cleanup(func() { r.took = time.Since(r.start) })
	return r
}

func (r *row) mark(name, want, got string, ok bool) {
	r.t.Helper()
	r.marks = append(r.marks, mark{name, want, got, ok})
	if !ok {
		r.t.Errorf("%s: %s, want %s", name, got, want)
	}
}

// none marks that nothing was found.
func (r *row) none(name string, found []string) {
	r.t.Helper()
	r.mark(name, "0", fmt.Sprint(len(found)), len(found) == 0)
	for _, f := range found[:min(len(found), 5)] {
		r.t.Log("  ", f)
	}
}

func printTable(w io.Writer) {
	if len(table) == 0 {
		return
	}
	missed := 0
	fmt.Fprintf(w, "\n%-58s %-12s %-12s %s\n", "ATTACK / MARK", "WANT", "MEASURED", "RESULT")
	for _, r := range table {
		result := "pass"
		if r.t.Failed() {
			result = "FAIL"
			missed++
		}
		fmt.Fprintf(w, "\n%-58s %-12s %-12s %s\n", r.attack, fmt.Sprintf("%d times", r.count), r.took.Round(time.Second), result)
		for _, m := range r.marks {
			verdict := "ok"
			if !m.ok {
				verdict = "MISSED"
			}
			fmt.Fprintf(w, "  %-56s %-12s %-12s %s\n", m.name, m.want, m.got, verdict)
		}
	}
	fmt.Fprintf(w, "\n%d of %d passed\n", len(table)-missed, len(table))
}
