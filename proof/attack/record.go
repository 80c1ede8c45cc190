package attack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"agegate/internal/lab/measured"
)

// Rows returns the rows of document checks as those of camera checks.
func Rows(documents []DocumentRow) []Row {
	rows := make([]Row, len(documents))
	for i, d := range documents {
		rows[i] = d.Row
	}
	return rows
}

// Record writes the results of a check, camera or document, into the file that
// packs of evidence read. The file says of each kind what form of attack it is, so
// every kind must be in it, and every kind of the check in rows, with at least one
// presentation.
func Record(path, check string, rows []Row, on time.Time) error {
	text, err := os.ReadFile(path) //nolint:gosec // the caller names it
	if err != nil {
		return err
	}
	var known measured.Attacks
	if err := json.Unmarshal(text, &known); err != nil {
		return err
	}
	measured := map[string]Row{}
	for _, r := range rows {
		measured[r.Species] = r
	}
	for i, of := range known.Rows {
		if of.Check != check {
			continue
		}
		r, ok := measured[of.Species]
		if !ok || r.N == 0 {
			return fmt.Errorf("%s: %q was not presented", path, of.Species)
		}
		if r.BonaFide != (of.Form == "bona fide") {
			return fmt.Errorf("%s: %q is of another form", path, of.Species)
		}
		known.Rows[i].Presentations, known.Rows[i].Errors, known.Rows[i].Goal = r.N, r.Errors(), !r.Beyond
		delete(measured, of.Species)
	}
	for species := range measured {
		return fmt.Errorf("%s: %q is missing: add it with its form, instrument and method", path, species)
	}
	if day := on.UTC().Format(time.DateOnly); check == "document" {
		known.DocumentPublished = day
	} else {
		known.CameraPublished = day
	}
	made, err := encode(known)
	if err != nil {
		return err
	}
	return os.WriteFile(path, made, 0o644) //nolint:gosec // a public file of the repository
}

// encode writes the file with one kind a line, so that differences can be read.
func encode(a measured.Attacks) ([]byte, error) {
	rows := a.Rows
	a.Rows = nil
	var head bytes.Buffer
	to := json.NewEncoder(&head)
	to.SetEscapeHTML(false)
	to.SetIndent("", "  ")
	if err := to.Encode(a); err != nil {
		return nil, err
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		text, err := json.Marshal(row)
		if err != nil {
			return nil, err
		}
		lines[i] = "    " + string(text)
	}
	return []byte(strings.Replace(head.String(), `"rows": null`, "\"rows\": [\n"+strings.Join(lines, ",\n")+"\n  ]", 1)),
		nil
}
