// Package accuracy measures how well the capture pipeline estimates ages on
// labelled pictures, and fits the calibration that improves it. It reads a set,
// processes each picture as the page's pipeline does, computes error and pass
// rates, and fits a head to the labels. Pictures and values derived from one
// are never written or logged.
package accuracy

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Picture is one labelled picture of a set.
type Picture struct {
	Path  string
	Age   int    // years, 0 to 120
	Group string // "" where the set names none
}

// ReadSet reads a set of labelled pictures: a CSV file with the columns file,
// age and optionally group, with or without a header row, file being relative
// to the CSV's directory; or a directory, searched recursively, whose .jpg,
// .jpeg and .png files have names that begin with the age; hidden files are
// skipped. An error names the file, and in a CSV the line.
func ReadSet(path string) ([]Picture, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	read := readCSV
	if info.IsDir() {
		read = readDir
	}
	set, err := read(path)
	if err == nil && len(set) == 0 {
		err = fmt.Errorf("%s holds no labelled picture", path)
	}
	return set, err
}

func readDir(dir string) ([]Picture, error) {
	var set []Picture
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		hidden := path != dir && strings.HasPrefix(entry.Name(), ".") // such as macOS writes beside each file
		switch {
		case err != nil:
			return err
		case hidden && entry.IsDir():
			return filepath.SkipDir
		case hidden || entry.IsDir():
			return nil
		}
		switch strings.ToLower(filepath.Ext(path)) {
		case ".jpg", ".jpeg", ".png":
		default:
			return nil
		}
		name := entry.Name()
		digits := len(name) - len(strings.TrimLeft(name, "0123456789"))
		age, err := parseAge(name[:digits])
		if err != nil {
			return fmt.Errorf("%s: the name must begin with the age", path)
		}
		set = append(set, Picture{Path: path, Age: age})
		return nil
	})
	return set, err
}

// columns holds the column indexes of a CSV; group is -1 when it has none.
type columns struct{ file, age, group int }

func readCSV(path string) ([]Picture, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the operator names the set
	if err != nil {
		return nil, err
	}
	in := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	in.TrimLeadingSpace = true
	in.FieldsPerRecord = -1 // counted below, to name the line
	var set []Picture
	at := columns{file: 0, age: 1, group: 2}
	for first := true; ; first = false {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return set, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if first {
			if heading, ok := parseHeading(row); ok {
				at = heading
				continue
			}
		}
		p, err := at.picture(row)
		if err != nil {
			line, _ := in.FieldPos(0)
			return nil, fmt.Errorf("%s, line %d: %w", path, line, err)
		}
		if !filepath.IsAbs(p.Path) {
			p.Path = filepath.Join(filepath.Dir(path), p.Path)
		}
		set = append(set, p)
	}
}

// parseHeading reads a first row that names the columns.
func parseHeading(row []string) (columns, bool) {
	var names []string
	for _, name := range row {
		names = append(names, strings.ToLower(strings.TrimSpace(name)))
	}
	at := columns{slices.Index(names, "file"), slices.Index(names, "age"), slices.Index(names, "group")}
	return at, at.file >= 0 && at.age >= 0
}

func (at columns) picture(row []string) (Picture, error) {
	if len(row) <= max(at.file, at.age) {
		return Picture{}, errors.New("a row needs a file and an age, separated by a comma")
	}
	p := Picture{Path: strings.TrimSpace(row[at.file])}
	if p.Path == "" {
		return Picture{}, errors.New("the file is missing")
	}
	var err error
	if p.Age, err = parseAge(row[at.age]); err != nil {
		return Picture{}, fmt.Errorf("%s: %w", p.Path, err)
	}
	if at.group >= 0 && at.group < len(row) {
		p.Group = strings.TrimSpace(row[at.group])
	}
	return p, nil
}

func parseAge(text string) (int, error) {
	age, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || age < 0 || age > 120 {
		return 0, errors.New("the age must be a whole number from 0 to 120")
	}
	return age, nil
}
