// Package junit writes reports in the JUnit format as most of its readers
// understand it: https://github.com/testmoapp/junitxml.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
	"time"
)

// Suite is a run of cases.
type Suite struct {
	Name       string     `xml:"name,attr"`
	Tests      int        `xml:"tests,attr"`
	Failures   int        `xml:"failures,attr"`
	Errors     int        `xml:"errors,attr"`
	Skipped    int        `xml:"skipped,attr"`
	Time       string     `xml:"time,attr"`      // see Seconds
	Timestamp  string     `xml:"timestamp,attr"` // see Timestamp
	Properties []Property `xml:"properties>property"`
	Cases      []Case     `xml:"testcase"`
}

// Property is something that describes the run.
type Property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// Case is one case. It passed if it has no message.
type Case struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Time    string   `xml:"time,attr"` // see Seconds
	Failure *Message `xml:"failure"`
	Error   *Message `xml:"error"` // it could not be run
	Skipped *Message `xml:"skipped"`
	Output  string   `xml:"system-out"`
}

// Message says why a case did not pass: a summary line and the full text.
type Message struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// Seconds formats a duration as the format requires.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// Timestamp formats a time as the format requires, without its zone.
func Timestamp(t time.Time) string { return t.Format("2006-01-02T15:04:05") }

// Write writes a report of one suite.
func Write(w io.Writer, s Suite) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	out := xml.NewEncoder(w)
	out.Indent("", "  ")
	report := struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []Suite  `xml:"testsuite"`
	}{Suites: []Suite{s}}
	if err := out.Encode(report); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
