package evidence

import (
	_ "embed"
	"encoding/json"
	"strconv"
)

//go:embed measured/attack.json
var attackText []byte

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

// attackFiles returns pad.csv and injection.csv.
func attackFiles(a Attacks) ([]file, error) {
	const material = "rendered pictures of one generated face and of documents of invented people"
	pad := newTable("pad.csv", "check", "kind", "instrument", "presentations", "errors", "error_rate_name",
		"error_rate_percent", "low_95_percent", "high_95_percent", "goal", "material", "published", "source")
	injection := newTable("injection.csv", "check", "kind", "instrument", "method", "presentations", "accepted",
		"accepted_percent", "low_95_percent", "high_95_percent", "goal", "material", "published", "source")
	for _, row := range a.Rows {
		s := exact(row.Errors, row.Presentations)
		rate, low, high := s.percent()
		goal := "yes"
		if !row.Goal {
			goal = "none: the check cannot detect it"
		}
		n, errors := strconv.Itoa(row.Presentations), strconv.Itoa(row.Errors)
		switch row.Form {
		case "injection":
			injection.add(row.Check, row.Species, row.Instrument, row.Method, n, errors, rate, low, high, goal, material,
				a.published(row), a.Source)
		case "bona fide":
			pad.add(row.Check, row.Species, "bona fide", n, errors, "BPCER", rate, low, high, goal, material, a.published(row),
				a.Source)
		default:
			pad.add(row.Check, row.Species, row.Instrument, n, errors, "APCER", rate, low, high, goal, material,
				a.published(row), a.Source)
		}
	}
	return filesOf(pad, injection)
}

func filesOf(tables ...*table) (files []file, err error) {
	for _, t := range tables {
		f, err := t.file()
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}
