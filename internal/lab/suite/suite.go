// Package suite holds what suites of cases that people run against a program have
// in common: the outcomes, the choice of cases, and reports as text, JSON and
// JUnit.
package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"
)

// Outcome is how a case ended.
type Outcome string

// Outcomes of cases.
const (
	Passed       Outcome = "passed"
	Failed       Outcome = "failed"
	Skipped      Outcome = "skipped"       // a credential or a setting is missing, or the case was not tried
	NotReachable Outcome = "not reachable" // webhooks do not reach the receiver
	Blocked      Outcome = "blocked"       // no more test sessions can be made today
)

// Choose returns the cases whose name matches one of the path.Match patterns, or
// all if there are no patterns. No match is an error.
func Choose[C any](cases []C, name func(C) string, patterns []string) ([]C, error) {
	for _, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("%q is not a pattern of case names", pattern)
		}
	}
	chosen := slices.DeleteFunc(slices.Clone(cases), func(c C) bool {
		return len(patterns) > 0 && !slices.ContainsFunc(patterns, func(pattern string) bool {
			match, _ := path.Match(pattern, name(c)) // checked above
			return match
		})
	})
	if len(chosen) == 0 {
		return nil, errors.New("no case has such a name")
	}
	return chosen, nil
}

// Entry is a case as a report shows it.
type Entry struct {
	Name, Title string // the name is an area, a dot and the rest
	Outcome     Outcome
	Cites       []string // what the case tests
	Details     []string // what was found, or why it was not tried
	Fix         string   // what to do about it; may be empty
	Took        time.Duration
}

// Entries are the cases of a report.
type Entries []Entry

// Count returns how many cases ended with an outcome.
func (e Entries) Count(o Outcome) (n int) {
	for _, one := range e {
		if one.Outcome == o {
			n++
		}
	}
	return n
}

// Summary returns one line that counts the outcomes.
func (e Entries) Summary() string {
	parts := []string{fmt.Sprintf("%d cases", len(e))}
	for _, o := range []Outcome{Passed, Failed, NotReachable, Blocked, Skipped} {
		if n := e.Count(o); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	return strings.Join(parts, ", ")
}

// Report is the data of a run that the formats show.
type Report struct {
	Name      string // of the suite, in one word
	StartedAt time.Time
	Took      time.Duration
	About     []Property
	Entries   Entries
	Width     int    // of the outcomes in the text
	Foot      string // of the text
}

// Formats lists the formats that Write knows.
var Formats = []string{"text", "json", "junit"}

// Write writes a report in one of Formats. As JSON it writes source, from which
// report was made.
func Write(w io.Writer, format string, source any, report Report) error {
	switch format {
	case "text":
		return report.text(w)
	case "json":
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		return out.Encode(source)
	case "junit":
		return report.junit(w)
	}
	return fmt.Errorf("a report cannot be written as %s", format)
}

func (r Report) text(w io.Writer) error {
	var b strings.Builder
	indent := strings.Repeat(" ", r.Width+1)
	for _, e := range r.Entries {
		fmt.Fprintf(&b, "%-*s %s: %s\n", r.Width, e.Outcome, e.Name, e.Title)
		if e.Outcome != Passed && len(e.Cites) > 0 {
			fmt.Fprintf(&b, "%s(%s)\n", indent, strings.Join(e.Cites, "; "))
		}
		for _, d := range e.Details {
			fmt.Fprintf(&b, "%s- %s\n", indent, d)
		}
		if e.Fix != "" {
			fmt.Fprintf(&b, "%sFix: %s\n", indent, e.Fix)
		}
	}
	_, err := io.WriteString(w, b.String()+r.Foot)
	return err
}

func (r Report) junit(w io.Writer) error {
	all := JUnit{
		Name: "agegate " + r.Name, Tests: len(r.Entries), Failures: r.Entries.Count(Failed),
		Errors: r.Entries.Count(NotReachable) + r.Entries.Count(Blocked), Skipped: r.Entries.Count(Skipped),
		Time: seconds(r.Took), Timestamp: r.StartedAt.Format("2006-01-02T15:04:05"), Properties: r.About,
	}
	for _, e := range r.Entries {
		area, _, _ := strings.Cut(e.Name, ".")
		c := Case{Class: r.Name + "." + area, Name: e.Name, Time: seconds(e.Took), Output: e.Title}
		if len(e.Cites) > 0 {
			c.Output += " (" + strings.Join(e.Cites, "; ") + ")"
		}
		lines := e.Details
		message := &Message{Message: strings.Join(lines[:min(1, len(lines))], "")}
		if e.Fix != "" {
			lines = append(slices.Clone(lines), "Fix: "+e.Fix)
		}
		message.Text = strings.Join(lines, "\n")
		switch e.Outcome {
		case Failed:
			c.Failure = message
		case NotReachable, Blocked:
			c.Error = message
		case Skipped:
			c.Skipped = message
		}
		all.Cases = append(all.Cases, c)
	}
	return all.write(w)
}
