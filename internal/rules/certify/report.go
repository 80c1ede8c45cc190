package certify

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"agegate/internal/rules/junit"

	"github.com/google/uuid"
)

// Outcome is how a case ended.
type Outcome string

// Outcomes of cases.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped"
)

// Code identifies a problem, for its text in several languages.
type Code string

// The codes. Each comment names the values that a Problem of that code holds.
const (
	ProblemNoAnswer      Code = "no_answer"      // value: the class of the failure
	ProblemNotAccepted   Code = "not_accepted"   // a good delivery was not answered with 2xx; value: the status
	ProblemAccepted      Code = "accepted"       // a forged delivery was answered with 2xx; value: the status
	ProblemAcceptedOnly  Code = "accepted_only"  // a forged delivery was answered with 2xx and released nothing; no failure
	ProblemReleased      Code = "released"       // a result that is not a pass released the order; value: how often
	ProblemReleasedAgain Code = "released_again" // one pass released the order more than once; value: how often
	ProblemNotReleased   Code = "not_released"   // a pass did not release the order
	ProblemUntried       Code = "untried"        // not tried, because the good delivery got no answer
)

// Codes returns all codes.
func Codes() []Code {
	return []Code{
		ProblemNoAnswer, ProblemNotAccepted, ProblemAccepted, ProblemAcceptedOnly, ProblemReleased, ProblemReleasedAgain, ProblemNotReleased, ProblemUntried,
	}
}

// Problem is something that a case found.
type Problem struct {
	Code  Code   `json:"code"`
	What  string `json:"what,omitempty"` // which of several deliveries or addresses
	Value string `json:"value,omitempty"`
}

func (p Problem) String() string {
	text := map[Code]string{
		ProblemNoAnswer:      "no answer in time: " + p.Value,
		ProblemNotAccepted:   "a good delivery was answered with " + p.Value + " and not with 2xx",
		ProblemAccepted:      "a forged delivery was answered with " + p.Value + ", as if it were good",
		ProblemAcceptedOnly:  "nothing was released, but the delivery was answered with 2xx, as if it were good",
		ProblemReleased:      "LET IN: the order was released on what is no pass (" + p.Value + " times)",
		ProblemReleasedAgain: "one pass released the order " + p.Value + " times",
		ProblemNotReleased:   "the order was not released",
		ProblemUntried:       "not tried, because the good delivery got no answer",
	}[p.Code]
	if p.What != "" {
		text = p.What + ": " + text
	}
	return text
}

// Result is one case of a report.
type Result struct {
	Case     string        `json:"case"`
	Title    string        `json:"title"`
	Outcome  Outcome       `json:"outcome"`
	Problems []Problem     `json:"problems,omitempty"`
	Fix      string        `json:"fix,omitempty"` // set for a case that failed
	Took     time.Duration `json:"took_ns"`
}

// LetIn reports whether the shop took something for a pass that was not one.
func (r Result) LetIn() bool {
	for _, p := range r.Problems {
		if p.Code == ProblemReleased || p.Code == ProblemAccepted {
			return true
		}
	}
	return false
}

// Report holds the findings of a run. It contains no key, secret, link, token or answer
// of the shop.
type Report struct {
	Tenant    uuid.UUID     `json:"tenant_id"`
	Hosts     []string      `json:"hosts"` // hosts that were reached
	StartedAt time.Time     `json:"started_at"`
	Took      time.Duration `json:"took_ns"`
	Sessions  int           `json:"test_sessions"` // test sessions that were created
	Results   []Result      `json:"results"`
}

// Count returns how many cases had the outcome.
func (r *Report) Count(o Outcome) (n int) {
	for _, result := range r.Results {
		if result.Outcome == o {
			n++
		}
	}
	return n
}

// Passed reports whether every case passed.
func (r *Report) Passed() bool { return r.Count(Passed) == len(r.Results) }

// Summary returns one line with the number of cases for each outcome.
func (r *Report) Summary() string {
	parts := []string{fmt.Sprintf("%d cases", len(r.Results))}
	for _, o := range []Outcome{Passed, Failed, Skipped} {
		if n := r.Count(o); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	if names := r.letIn(); len(names) > 0 {
		parts = append(parts, "let in: "+strings.Join(names, " "))
	}
	return strings.Join(parts, ", ")
}

func (r *Report) letIn() (names []string) {
	for _, result := range r.Results {
		if result.LetIn() {
			names = append(names, result.Case)
		}
	}
	return names
}

// Formats lists the formats that Write knows.
var Formats = []string{"text", "json", "junit"}

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
	}
	return fmt.Errorf("%w: a report is text, json or junit", ErrCannotRun)
}

func (r *Report) writeText(w io.Writer) error {
	var b strings.Builder
	for _, result := range r.Results {
		fmt.Fprintf(&b, "%-8s %s: %s\n", result.Outcome, result.Case, result.Title)
		for _, p := range result.Problems {
			fmt.Fprintf(&b, "         - %s\n", p)
		}
		if result.Fix != "" {
			fmt.Fprintf(&b, "         Fix: %s\n", result.Fix)
		}
	}
	fmt.Fprintf(&b, "\n%s: %s. %d test sessions were made in %s.\n", strings.Join(r.Hosts, ", "), r.Summary(), r.Sessions, r.Took.Round(time.Millisecond))
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) writeJUnit(w io.Writer) error {
	suite := junit.Suite{
		Name: "agegate certify", Tests: len(r.Results), Failures: r.Count(Failed), Skipped: r.Count(Skipped),
		Time: junit.Seconds(r.Took), Timestamp: junit.Timestamp(r.StartedAt),
		Properties: []junit.Property{{Name: "hosts", Value: strings.Join(r.Hosts, ", ")}},
	}
	for _, result := range r.Results {
		way, _, _ := strings.Cut(result.Case, ".")
		c := junit.Case{Class: "certify." + way, Name: result.Case, Time: junit.Seconds(result.Took), Output: result.Title}
		var lines []string
		for _, p := range result.Problems {
			lines = append(lines, p.String())
		}
		first := strings.Join(lines[:min(1, len(lines))], "")
		if result.Fix != "" {
			lines = append(lines, "Fix: "+result.Fix)
		}
		message := &junit.Message{Message: first, Text: strings.Join(lines, "\n")}
		switch result.Outcome {
		case Failed:
			c.Failure = message
		case Skipped:
			c.Skipped = message
		}
		suite.Cases = append(suite.Cases, c)
	}
	return junit.Write(w, suite)
}
