package certify

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"agegate/internal/lab/suite"
)

// Code identifies a problem.
type Code string

// The codes. Each comment names the values that a Problem of that code holds.
const (
	ProblemNoAnswer    Code = "no_answer"    // value: the class of the failure
	ProblemNotAccepted Code = "not_accepted" // a good delivery was not answered with 2xx; value: the status
	// a forged delivery was answered with 2xx but released nothing; not a failure.
	ProblemAcceptedOnly  Code = "accepted_only"
	ProblemReleased      Code = "released"       // a result that is not a pass released the order; value: how often
	ProblemReleasedAgain Code = "released_again" // one pass released the order more than once; value: how often
	ProblemTakenBack     Code = "taken_back"     // the order was released, and no longer is; value: how often it still is
	ProblemNotReleased   Code = "not_released"   // a pass did not release the order
	ProblemAge           Code = "age"            // the session asks for another age; value: that of the page
	ProblemUnchecked     Code = "unchecked"      // the order led to no check
	ProblemUntried       Code = "untried"        // not tried, because the good delivery got no answer
	ProblemUnforced      Code = "unforced"       // not tried, because no session of the tenant ends so; not a failure
)

// Problem is a finding of a case.
type Problem struct {
	Code  Code   `json:"code"`
	What  string `json:"what,omitempty"` // which of several deliveries or addresses
	Value string `json:"value,omitempty"`
}

func (p Problem) String() string {
	text := map[Code]string{
		ProblemNoAnswer:     "no answer in time: " + p.Value,
		ProblemNotAccepted:  "a good delivery was answered with " + p.Value + " and not with 2xx",
		ProblemAcceptedOnly: "nothing was released, but the delivery was answered with 2xx, as if it were good",
		ProblemReleased: "LET IN: the order was released on what is no pass (" + p.Value +
			" times): whoever does this gets the goods without a check",
		ProblemReleasedAgain: "one pass released the order " + p.Value + " times: the goods go out as often",
		ProblemTakenBack: "the order was released, and then no longer: an adult who has passed may get nothing, or the " +
			"goods go out again",
		ProblemNotReleased: "the order was not released: an adult who has passed gets nothing",
		ProblemAge:         "the session asks for the age " + p.Value + ", which is not what the order needs",
		ProblemUnchecked:   "LET IN: the order led to no check",
		ProblemUntried:     "not tried, because the good delivery got no answer",
		ProblemUnforced:    "not tried: your tenant takes documents only, so that no lookup says SPOOF",
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
	Outcome  suite.Outcome `json:"outcome"`
	Problems []Problem     `json:"problems,omitempty"`
	Fix      string        `json:"fix,omitempty"` // set for a case that failed
	Took     time.Duration `json:"took_ns"`
}

// LetIn reports whether the shop accepted as a pass something that was not one.
func (r Result) LetIn() bool {
	return slices.ContainsFunc(r.Problems, func(p Problem) bool {
		return p.Code == ProblemReleased || p.Code == ProblemUnchecked || p.Code == ProblemAge
	})
}

// Report holds the findings of a run. It contains no key, secret, link, token or answer
// of the shop.
type Report struct {
	Hosts     []string      `json:"hosts"` // hosts that were reached
	StartedAt time.Time     `json:"started_at"`
	Took      time.Duration `json:"took_ns"`
	Sessions  int           `json:"test_sessions"` // test sessions that were created
	Results   []Result      `json:"results"`
}

// Count returns how many cases had the outcome.
func (r *Report) Count(o suite.Outcome) int { return r.entries().Count(o) }

// Passed reports whether every case that could be tried passed, and there was one.
func (r *Report) Passed() bool { return r.Count(suite.Failed) == 0 && r.Count(suite.Passed) > 0 }

// Summary returns one line with the number of cases for each outcome.
func (r *Report) Summary() string {
	var letIn []string
	for _, result := range r.Results {
		if result.LetIn() {
			letIn = append(letIn, result.Case)
		}
	}
	summary := r.entries().Summary()
	if len(letIn) > 0 {
		summary += ", let in: " + strings.Join(letIn, " ")
	}
	return summary
}

func (r *Report) entries() suite.Entries {
	var entries suite.Entries
	for _, one := range r.Results {
		e := suite.Entry{Name: one.Case, Title: one.Title, Outcome: one.Outcome, Fix: one.Fix, Took: one.Took}
		for _, p := range one.Problems {
			e.Details = append(e.Details, p.String())
		}
		entries = append(entries, e)
	}
	return entries
}

// Write writes the report in one of suite.Formats.
func (r *Report) Write(w io.Writer, format string) error {
	hosts := strings.Join(r.Hosts, ", ")
	return suite.Write(w, format, r, suite.Report{
		Name: "certify", StartedAt: r.StartedAt, Took: r.Took, About: []suite.Property{{Name: "hosts", Value: hosts}},
		Entries: r.entries(), Width: len("skipped "),
		Foot: fmt.Sprintf("\n%s: %s. %d test sessions were made in %s.\n", hosts, r.Summary(), r.Sessions,
			r.Took.Round(time.Millisecond)),
	})
}
