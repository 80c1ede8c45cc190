package conformance

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"agegate/internal/lab/suite"
)

// Result is one case of a report.
type Result struct {
	Case    string        `json:"case"`
	Title   string        `json:"title"`
	Cites   []string      `json:"cites"`
	Outcome suite.Outcome `json:"outcome"`
	Details []string      `json:"details,omitempty"` // what is wrong, or why it was not run
	Took    time.Duration `json:"took_ns"`
}

// Report holds the results of a run. It contains no key, secret, link or token.
type Report struct {
	BaseURL   string        `json:"base_url"`
	StartedAt time.Time     `json:"started_at"`
	Took      time.Duration `json:"took_ns"`
	Seed      uint64        `json:"seed"`          // repeats the same random requests
	Sessions  int64         `json:"test_sessions"` // number of test sessions created
	Live      int64         `json:"live_sessions"`
	Results   []Result      `json:"results"`
	Statuses  []StatusCount `json:"statuses"` // every status that the contract documents
	Examples  []ExampleSeen `json:"examples"` // every error example that the contract documents
}

// Count returns how many cases ended so.
func (r *Report) Count(o suite.Outcome) int { return r.entries().Count(o) }

// Summary is one line that counts the outcomes.
func (r *Report) Summary() string { return r.entries().Summary() }

func (r *Report) entries() suite.Entries {
	var entries suite.Entries
	for _, one := range r.Results {
		entries = append(entries, suite.Entry{
			Name: one.Case, Title: one.Title, Outcome: one.Outcome, Cites: one.Cites, Details: one.Details, Took: one.Took,
		})
	}
	return entries
}

// Exit codes of the command.
const (
	ExitPassed    = 0
	ExitFailed    = 1 // a case failed or could not be reached
	ExitCannotRun = 2 // the gateway was not tested, or not to the end
)

// ExitCode returns the exit code for the report.
func (r *Report) ExitCode() int {
	switch {
	case r.Count(suite.Blocked) > 0:
		return ExitCannotRun
	case r.Count(suite.Failed)+r.Count(suite.NotReachable) > 0:
		return ExitFailed
	}
	return ExitPassed
}

// Formats are those of Write.
var Formats = append(slices.Clone(suite.Formats), "html")

// Write writes the report in one of Formats.
func (r *Report) Write(w io.Writer, format string) error {
	if format == "html" {
		return page.Execute(w, r)
	}
	return suite.Write(w, format, r, suite.Report{
		Name: "conformance", StartedAt: r.StartedAt, Took: r.Took, Entries: r.entries(), Width: len(suite.NotReachable),
		Foot:  r.foot(),
		About: []suite.Property{{Name: "base_url", Value: r.BaseURL}, {Name: "seed", Value: fmt.Sprint(r.Seed)}},
	})
}

// foot is the end of the report as text.
func (r *Report) foot() string {
	var b strings.Builder
	b.WriteString("\nDocumented statuses that did not occur:\n")
	for _, s := range r.Statuses {
		if s.Seen == 0 {
			fmt.Fprintf(&b, "  %s %s  %s\n", s.Operation, s.Status, s.Why)
		}
	}
	fmt.Fprintf(&b, "\n%s: %s. %d test sessions and %d live ones were made in %s. Random requests: --seed %d.\n",
		r.BaseURL, r.Summary(), r.Sessions, r.Live, r.Took.Round(time.Millisecond), r.Seed)
	return b.String()
}

//go:embed report.html
var pageSource string

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"list":  func(s []string) string { return strings.Join(s, "; ") },
	"ms":    func(d time.Duration) string { return d.Round(time.Millisecond).String() },
	"class": func(o suite.Outcome) string { return strings.ReplaceAll(string(o), " ", "-") },
}).Parse(pageSource))
