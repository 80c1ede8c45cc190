package conformance

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"agegate/internal/rules/junit"
)

// Outcome is how a case ended.
type Outcome string

// Outcomes of cases.
const (
	Passed       Outcome = "passed"
	Failed       Outcome = "failed"
	Skipped      Outcome = "skipped"       // a credential or a setting is missing
	NotReachable Outcome = "not reachable" // webhooks do not reach the receiver
	Blocked      Outcome = "blocked"       // no more test sessions can be made today
)

// Result is one case of a report.
type Result struct {
	Case    string        `json:"case"`
	Title   string        `json:"title"`
	Cites   []string      `json:"cites"`
	Outcome Outcome       `json:"outcome"`
	Details []string      `json:"details,omitempty"` // what is wrong, or why it was not run
	Took    time.Duration `json:"took_ns"`
}

// Report holds the findings of a run. It contains no key, secret, link or token.
type Report struct {
	BaseURL   string        `json:"base_url"`
	StartedAt time.Time     `json:"started_at"`
	Took      time.Duration `json:"took_ns"`
	Seed      uint64        `json:"seed"`          // repeats the random requests
	Sessions  int64         `json:"test_sessions"` // that were made
	Live      int64         `json:"live_sessions"`
	Results   []Result      `json:"results"`
	Statuses  []StatusCount `json:"statuses"` // every documented one
	Examples  []ExampleSeen `json:"examples"` // every documented one of an error
}

// Count returns how many cases ended so.
func (r *Report) Count(o Outcome) (n int) {
	for _, result := range r.Results {
		if result.Outcome == o {
			n++
		}
	}
	return n
}

// Exit codes of the command.
const (
	ExitPassed    = 0
	ExitFailed    = 1 // a case failed or could not be reached
	ExitCannotRun = 2 // the gateway was not tested, or not to the end
)

// ExitCode is the report's, of those above.
func (r *Report) ExitCode() int {
	switch {
	case r.Count(Blocked) > 0:
		return ExitCannotRun
	case r.Count(Failed)+r.Count(NotReachable) > 0:
		return ExitFailed
	}
	return ExitPassed
}

// Summary is one line that counts the outcomes.
func (r *Report) Summary() string {
	parts := []string{fmt.Sprintf("%d cases", len(r.Results))}
	for _, o := range []Outcome{Passed, Failed, NotReachable, Blocked, Skipped} {
		if n := r.Count(o); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	return strings.Join(parts, ", ")
}

// Formats are those of Write.
var Formats = []string{"text", "json", "junit", "html"}

// Write writes the report in one of Formats.
func (r *Report) Write(w io.Writer, format string) error {
	switch format {
	case "text":
		return r.writeText(w)
	case "json":
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		return out.Encode(r)
	case "junit":
		return r.writeJUnit(w)
	case "html":
		return page.Execute(w, r)
	}
	return fmt.Errorf("%w: a report is text, json, junit or html", ErrCannotRun)
}

func (r *Report) writeText(w io.Writer) error {
	var b strings.Builder
	for _, result := range r.Results {
		fmt.Fprintf(&b, "%-13s %s: %s\n", result.Outcome, result.Case, result.Title)
		if result.Outcome == Passed {
			continue
		}
		fmt.Fprintf(&b, "              (%s)\n", strings.Join(result.Cites, "; "))
		for _, d := range result.Details {
			fmt.Fprintf(&b, "              - %s\n", d)
		}
	}
	b.WriteString("\nDocumented statuses that did not occur:\n")
	for _, s := range r.Statuses {
		if s.Seen == 0 {
			fmt.Fprintf(&b, "  %s %s  %s\n", s.Operation, s.Status, s.Why)
		}
	}
	fmt.Fprintf(&b, "\n%s: %s. %d test sessions and %d live ones were made in %s. Random requests: --seed %d.\n",
		r.BaseURL, r.Summary(), r.Sessions, r.Live, r.Took.Round(time.Millisecond), r.Seed)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) writeJUnit(w io.Writer) error {
	suite := junit.Suite{
		Name: "agegate conformance", Tests: len(r.Results), Failures: r.Count(Failed), Errors: r.Count(NotReachable) + r.Count(Blocked),
		Skipped: r.Count(Skipped), Time: junit.Seconds(r.Took), Timestamp: junit.Timestamp(r.StartedAt),
		Properties: []junit.Property{{Name: "base_url", Value: r.BaseURL}, {Name: "seed", Value: fmt.Sprint(r.Seed)}},
	}
	for _, result := range r.Results {
		area, _, _ := strings.Cut(result.Case, ".")
		c := junit.Case{Class: "conformance." + area, Name: result.Case, Time: junit.Seconds(result.Took), Output: result.Title + " (" + strings.Join(result.Cites, "; ") + ")"}
		message := &junit.Message{Message: strings.Join(result.Details[:min(1, len(result.Details))], ""), Text: strings.Join(result.Details, "\n")}
		switch result.Outcome {
		case Failed:
			c.Failure = message
		case NotReachable, Blocked:
			c.Error = message
		case Skipped:
			c.Skipped = message
		}
		suite.Cases = append(suite.Cases, c)
	}
	return junit.Write(w, suite)
}

//go:embed report.html
var pageSource string

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"list":  func(s []string) string { return strings.Join(s, "; ") },
	"ms":    func(d time.Duration) string { return d.Round(time.Millisecond).String() },
	"class": func(o Outcome) string { return strings.ReplaceAll(string(o), " ", "-") },
}).Parse(pageSource))
