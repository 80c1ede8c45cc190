package suite

import (
	"encoding/xml"
	"fmt"
	"io"
	"time"
)

// JUnit is a run of cases in the JUnit format, in the form that most programs
// read: https://github.com/testmoapp/junitxml.
type JUnit struct {
	Name       string     `xml:"name,attr"`
	Tests      int        `xml:"tests,attr"`
	Failures   int        `xml:"failures,attr"`
	Errors     int        `xml:"errors,attr"`
	Skipped    int        `xml:"skipped,attr"`
	Time       string     `xml:"time,attr"`      // in seconds
	Timestamp  string     `xml:"timestamp,attr"` // without its zone
	Properties []Property `xml:"properties>property"`
	Cases      []Case     `xml:"testcase"`
}

// Property is a property of the run.
type Property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// Case is one case. It passed if it has no message.
type Case struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Time    string   `xml:"time,attr"` // in seconds
	Failure *Message `xml:"failure"`
	Error   *Message `xml:"error"` // the case could not be run
	Skipped *Message `xml:"skipped"`
	Output  string   `xml:"system-out"`
}

// Message says why a case did not pass: a summary line and the full text.
type Message struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// write writes a report of one suite.
func (j JUnit) write(w io.Writer) error {
	text, err := xml.MarshalIndent(struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []JUnit  `xml:"testsuite"`
	}{Suites: []JUnit{j}}, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}
