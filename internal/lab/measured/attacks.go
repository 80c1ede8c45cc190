package measured

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"

	"agegate/internal/backoffice/evidence"
	"agegate/internal/backoffice/insight"
)

//go:embed attack.json
var attackText []byte

// Forms of a presentation that are not those of an attack shown to the camera.
const (
	injected = "injection"
	bonaFide = "bona fide"
)

// Attacks are the results of the attack range (make attack), as published with
// this release.
type Attacks struct {
	Format            int      `json:"format"`
	Command           string   `json:"command"`
	Source            string   `json:"source"`             // where the figures are published
	CameraPublished   string   `json:"camera_published"`   // a date
	DocumentPublished string   `json:"document_published"` // a date
	Rows              []Attack `json:"rows"`
}

// Attack counts the presentations of one kind. Forms are those of ISO/IEC 30107-3
// (presentation, bona fide) and of CEN/TS 18099 (injection, with the instrument
// and the method by which it replaces the camera).
type Attack struct {
	Species       string `json:"species"`
	Check         string `json:"check"` // camera or document
	Form          string `json:"form"`  // presentation, injection or bona fide
	Instrument    string `json:"instrument"`
	Method        string `json:"method"` // of an injection
	Presentations int    `json:"presentations"`
	Errors        int    `json:"errors"` // attacks accepted, or persons not accepted
	Goal          bool   `json:"goal"`   // false: measured without a goal, because the check cannot detect this kind
}

// ShippedAttacks returns the published results.
func ShippedAttacks() (a Attacks, err error) {
	err = json.Unmarshal(attackText, &a)
	return a, err
}

// published returns when the results of a row were published.
func (a Attacks) published(row Attack) string {
	if row.Check == "document" {
		return a.DocumentPublished
	}
	return a.CameraPublished
}

// tables returns pad.csv and injection.csv.
func (a Attacks) tables() (pad, injection evidence.Table) {
	const material = "rendered pictures of one generated face and of documents of invented people"
	pad = evidence.Table{{"check", "kind", "instrument", "presentations", "errors", "error_rate_name",
		"error_rate_percent", "low_95_percent", "high_95_percent", "goal", "material", "published", "source"}}
	injection = evidence.Table{{"check", "kind", "instrument", "method", "presentations", "accepted",
		"accepted_percent", "low_95_percent", "high_95_percent", "goal", "material", "published", "source"}}
	for _, row := range a.Rows {
		s := exact(row.Errors, row.Presentations)
		goal := "yes"
		if !row.Goal {
			goal = "none: the check cannot detect it"
		}
		n, errors := strconv.Itoa(row.Presentations), strconv.Itoa(row.Errors)
		rest := []string{evidence.Percent(s.Share), evidence.Percent(s.Low), evidence.Percent(s.High), goal, material,
			a.published(row), a.Source}
		switch row.Form {
		case injected:
			injection.Add(append([]string{row.Check, row.Species, row.Instrument, row.Method, n, errors}, rest...)...)
		case bonaFide:
			pad.Add(append([]string{row.Check, row.Species, bonaFide, n, errors, "BPCER"}, rest...)...)
		default:
			pad.Add(append([]string{row.Check, row.Species, row.Instrument, n, errors, "APCER"}, rest...)...)
		}
	}
	return pad, injection
}

// sum is the sum of the attacks of one check and form.
type sum struct {
	published                      string
	kinds, presentations, accepted int
	worst                          insight.Rate // with the highest upper bound
	species                        string       // of the worst
}

// statements returns the rows of the statements: the sums of the attacks with a goal, the
// attacks without one, and the errors of persons.
func (a Attacks) statements() string {
	sums, order := map[string]*sum{}, []string{}
	var robust, beyond [][]string
	errors, persons := 0, 0
	for _, row := range a.Rows {
		s := exact(row.Errors, row.Presentations)
		switch {
		case row.Form == bonaFide:
			errors, persons = errors+row.Errors, persons+row.Presentations
			continue
		case !row.Goal:
			beyond = append(beyond, []string{row.Check, row.Species, row.Form, evidence.Shown(s)})
			continue
		}
		key := row.Check + ", " + row.Form
		of, known := sums[key]
		if !known {
			of = &sum{published: a.published(row)}
			sums[key], order = of, append(order, key)
		}
		of.kinds, of.presentations, of.accepted = of.kinds+1, of.presentations+row.Presentations, of.accepted+row.Errors
		if s.High > of.worst.High {
			of.worst, of.species = s, row.Species
		}
	}
	for _, key := range order {
		of := sums[key]
		robust = append(robust, []string{key, strconv.Itoa(of.kinds), strconv.Itoa(of.presentations),
			strconv.Itoa(of.accepted), evidence.Shown(of.worst) + " " + of.species, of.published})
	}
	return defined("robust", robust...) + defined("beyond", beyond...) + fmt.Sprintf(
		"{{define \"persons\"}}%d / %d, %s %%{{end}}\n", errors, persons, evidence.Shown(exact(errors, persons)))
}
