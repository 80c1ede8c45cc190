package conformance

import (
	"encoding/json"
	"encoding/xml"
	"reflect"
	"strings"
	"testing"
	"time"

	"agegate"
	"agegate/internal/lab/suite"
)

func sample() *Report {
	return &Report{
		BaseURL: "https://age.example", StartedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Took: 1500 * time.Millisecond,
		Seed: 7, Sessions: 3,
		Results: []Result{
			{Case: "a.ok", Title: "It holds", Cites: []string{"SPEC 1"}, Outcome: suite.Passed, Took: time.Second},
			{Case: "a.bad", Title: "It does not", Cites: []string{"SPEC 2", "openapi.yaml Errors"}, Outcome: suite.Failed,
				Details: []string{"first <b>", "second"}},
			{Case: "b.off", Title: "Not tried", Cites: []string{"SPEC 3"}, Outcome: suite.Skipped,
				Details: []string{"needs a key"}},
			{Case: "b.far", Title: "Far away", Cites: []string{"SPEC 6"}, Outcome: suite.NotReachable,
				Details: []string{"not reachable"}},
		},
		Statuses: []StatusCount{{Operation: "createSession", Status: "201", Seen: 3},
			{Operation: "createSession", Status: "402", Why: "needs credit"}},
		Examples: []ExampleSeen{{Operation: "createSession", Status: "422", Example: "notJSON", Seen: true}},
	}
}

func TestExitCode(t *testing.T) {
	for want, outcomes := range map[int][]suite.Outcome{
		ExitPassed:    {suite.Passed, suite.Skipped},
		ExitFailed:    {suite.Passed, suite.Failed},
		ExitCannotRun: {suite.Failed, suite.Blocked},
	} {
		r := &Report{}
		for _, o := range outcomes {
			r.Results = append(r.Results, Result{Outcome: o})
		}
		if got := r.ExitCode(); got != want {
			t.Errorf("%v gives %d, want %d", outcomes, got, want)
		}
	}
	if code := (&Report{Results: []Result{{Outcome: suite.NotReachable}}}).ExitCode(); code != ExitFailed {
		t.Errorf("webhooks that are not reachable give %d", code)
	}
}

func TestReports(t *testing.T) {
	got := map[string]string{}
	for _, format := range []string{"text", "json", "junit", "html"} {
		var b strings.Builder
		if err := sample().Write(&b, format); err != nil {
			t.Fatal(err)
		}
		got[format] = b.String()
	}
	if err := sample().Write(&strings.Builder{}, "pdf"); err == nil {
		t.Error("a report as pdf is written")
	}
	for format, parts := range map[string][]string{
		"text": {"failed        a.bad: It does not\n              (SPEC 2; openapi.yaml Errors)\n              - first <b>\n",
			"createSession 402  needs credit", "4 cases, 1 passed, 1 failed, 1 not reachable, 1 skipped.", "--seed 7"},
		"html": {`<article class="not-reachable">`, "first &lt;b&gt;", "default-src 'none'", "<td>needs credit</td>"},
	} {
		for _, part := range parts {
			if !strings.Contains(got[format], part) {
				t.Errorf("the %s report lacks %q:\n%s", format, part, got[format])
			}
		}
	}
	for _, outside := range []string{"http://", "//cdn", "src=", "<link", "<script", "url("} {
		if strings.Contains(got["html"], outside) {
			t.Errorf("the HTML report asks for more by %q", outside)
		}
	}
	var back Report
	if err := json.Unmarshal([]byte(got["json"]), &back); err != nil || !reflect.DeepEqual(&back, sample()) {
		t.Errorf("the JSON report does not come back: %v\n%s", err, got["json"])
	}
	var suites struct {
		Suites []suite.JUnit `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(got["junit"]), &suites); err != nil {
		t.Fatal(err)
	}
	all := suites.Suites[0]
	if all.Tests != 4 || all.Failures != 1 || all.Errors != 1 || all.Skipped != 1 || len(all.Cases) != 4 {
		t.Errorf("the JUnit report counts %+v", all)
	}
	if c := all.Cases[1]; c.Failure == nil || c.Failure.Text != "first <b>\nsecond" || c.Error != nil ||
		c.Skipped != nil || c.Class != "conformance.a" {
		t.Errorf("the failed case is %+v", c)
	}
}

// TestCatalogue: every case has a unique name, a title and a citation.
func TestCatalogue(t *testing.T) {
	names := map[string]bool{}
	for _, c := range (&Options{Draws: DefaultDraws}).cases() {
		if names[c.Name] || !strings.Contains(c.Name, ".") || c.Title == "" || len(c.Cites) == 0 {
			t.Errorf("the case %q is unfinished, or there are two", c.Name)
		}
		names[c.Name] = true
		for _, cite := range c.Cites {
			source, place, _ := strings.Cut(cite, " ")
			first, _, _ := strings.Cut(place, " ")
			doc := string(agegate.OpenAPI)
			switch source {
			case "SPEC", "README.md":
			case "openapi.yaml":
				if !strings.Contains(doc, "# "+place+"\n") && !strings.Contains(doc, "operationId: "+first+"\n") &&
					!strings.Contains(doc, "\n    "+first+":\n") {
					t.Errorf("%s cites %q, which the contract does not have", c.Name, cite)
				}
			default:
				t.Errorf("%s cites %q", c.Name, cite)
			}
		}
	}
}

func TestRedaction(t *testing.T) {
	redacted := redactor(Options{TestKey: "svc_test_canary", WebhookSecret: "whsec_canary"})
	got := redacted(`svc_test_canary whsec_canary "https://v.example/v/Zk3sU1x0V9qBf7m2YtHcJ5wLrN8aPdGoEiT4uKyXbQM" ` +
		`?a=1&token=1.b&c=2`)
	if want := `[redacted] [redacted] "https://v.example/v/[redacted]" ?a=1&token=[redacted]&c=2`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
