// Command expect writes the pictures and tables of docs/expect.md from the
// shipped measurements: by age, sex and group, models/fairness.json, and by age and
// cutoff, models/curve.json. It also writes the tables that packs of evidence include. Run
// it in the root of the repository. With -check it writes nothing and fails if a file
// differs from its source.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"

	"agegate/internal/backoffice/evidence"
	"agegate/internal/lab/curve"
	"agegate/internal/lab/measured"
	"agegate/internal/tools/settle"
)

const (
	byGroup  = "models/" + measured.FairnessFile
	byYears  = "models/" + curve.FileName
	document = "docs/expect.md"
	readme   = "README.md"
	pictures = "docs/pictures/"
	// The documents are generated between these lines.
	begin, end = "<!-- begin of what internal/tools/expect writes -->\n", "<!-- end of it -->\n"
)

func main() {
	check := flag.Bool("check", false, "report differences instead of writing files")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(check bool) error {
	text, err := os.ReadFile(byGroup)
	if err != nil {
		return err
	}
	var f measured.Fairness
	if err := json.Unmarshal(text, &f); err != nil {
		return err
	}
	byAge, err := readCurve()
	if err != nil {
		return err
	}
	made, err := tables(f, byAge)
	if err != nil {
		return err
	}
	slices.SortStableFunc(f.Collections, leastTrained)
	for _, theme := range themes {
		made[pictures+"years-"+theme.name+".svg"] = yearsPicture(f, theme)
		made[pictures+"groups-"+theme.name+".svg"] = groupsPicture(f, theme)
	}
	for name, part := range map[string][]byte{document: generated(f, byAge), readme: strangers(f)} {
		page, err := os.ReadFile(name) //nolint:gosec // one of two documents
		if err != nil {
			return err
		}
		before, rest, found := bytes.Cut(page, []byte(begin))
		_, after, ended := bytes.Cut(rest, []byte(end))
		if !found || !ended {
			return fmt.Errorf("%s: the marks of the generated part are missing", name)
		}
		made[name] = slices.Concat(before, []byte(begin), part, []byte(end), after)
	}
	return settle.Files(made, check)
}

// tables returns the tables that packs of evidence include.
func tables(f measured.Fairness, byAge *curve.Curve) (map[string][]byte, error) {
	released, err := measured.Release()
	if err != nil {
		return nil, err
	}
	made := map[string][]byte{
		measured.Beside(byGroup, evidence.AccuracyFile): measured.Accuracy(f),
		measured.Beside(byYears, evidence.TargetsFile):  measured.TargetsTable(byAge),
	}
	for name, text := range released {
		made["internal/backoffice/evidence/measured/"+name] = text
	}
	return made, nil
}

func readCurve() (*curve.Curve, error) {
	text, err := os.ReadFile(byYears)
	if err != nil {
		return nil, err
	}
	return curve.Parse(text)
}
