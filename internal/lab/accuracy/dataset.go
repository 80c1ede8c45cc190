// Package accuracy measures how well the capture pipeline estimates ages on
// labelled pictures, and fits the calibration that improves it. It reads a set,
// processes each picture as the page's pipeline does, computes error and pass
// rates, and fits a head to the labels. Pictures and values derived from one
// are never written or logged.
package accuracy

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"agegate/internal/lab/measured"
)

// Picture is one labelled picture of a set.
type Picture struct {
	Path   string
	Age    int      // years, 0 to 120
	Groups []string // to which the person belongs by the set's labels; nil without labels
	// Collection is the source of the picture; the report also has figures for
	// each source.
	Collection string
	// Pad is the grey border that the picture needs on each side before a
	// detector finds its face, as a fraction of its longer side.
	Pad      float64
	padGiven bool // in the set itself
	// Estimate is in years. It is set if the set contains estimates, like the one
	// that internal/tools/training/train.py writes of held-out pictures.
	Estimate *float64
	Held     bool   // held out of the training, by a list that `agegate-lab crops` wrote
	Training string // whether the training had other pictures of the collection, as in measured.Collection
}

// ReadSets reads several sets as ReadSet does. A set may be given as NAME=PATH;
// its pictures then belong to the collection NAME, otherwise to the collection
// stated in the CSV file, or else to one named after the file or directory. pads
// holds the Pad of each set's pictures, or one value for all; a column pad of a CSV
// file goes before it.
func ReadSets(paths []string, pads []float64) ([]Picture, error) {
	if len(pads) != 1 && len(pads) != len(paths) {
		return nil, errors.New("give one pad, or one for each set")
	}
	var all []Picture
	for i, path := range paths {
		name, rest, named := strings.Cut(path, "=")
		if named {
			path = rest
		} else {
			name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		}
		set, err := ReadSet(path)
		if err != nil {
			return nil, err
		}
		for j := range set {
			p := &set[j]
			if named || p.Collection == "" {
				p.Collection = name
			}
			p.Training = cmp.Or(p.Training, measured.Untrained)
			if !p.padGiven {
				p.Pad = pads[min(i, len(pads)-1)]
			}
		}
		all = append(all, set...)
	}
	return all, nil
}

// ReadSet reads a set of labelled pictures. A CSV file has the columns file, age and
// optionally group and collection, with or without a header row. Its paths are
// relative to the CSV's directory, and semicolons separate groups. A directory is
// searched recursively for .jpg, .jpeg and .png files whose names begin with the age,
// before a separator or the extension. Hidden files are skipped, and names in the form
// of UTKFace (age_gender_race_date) give groups too. An error names the file, and in a
// CSV the line.
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

// FilesIn returns the files of a directory and its subdirectories whose names end
// with one of the given lower-case extensions, in upper or lower case. It skips
// hidden files and directories.
func FilesIn(dir string, extensions ...string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		hidden := path != dir && strings.HasPrefix(entry.Name(), ".") // such as those that macOS writes next to each file
		switch {
		case err != nil:
			return err
		case hidden && entry.IsDir():
			return filepath.SkipDir
		case !hidden && !entry.IsDir() && slices.Contains(extensions, strings.ToLower(filepath.Ext(path))):
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

func readDir(dir string) ([]Picture, error) {
	files, err := FilesIn(dir, ".jpg", ".jpeg", ".png")
	if err != nil {
		return nil, err
	}
	var set []Picture
	for _, path := range files {
		p, err := parseName(filepath.Base(path))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		p.Path = path
		set = append(set, p)
	}
	return set, nil
}

// ageName is a file name that begins with an age: "25.jpg", "25_0_a.jpg",
// "25 a.jpg", but not "001A02.jpg", which begins with a person's number.
var ageName = regexp.MustCompile(`^(\d{1,3})[^0-9A-Za-z]`)

// utkName is a name of UTKFace, with its labels of gender and race.
var utkName = regexp.MustCompile(`^\d{1,3}_([01])_([0-4])_`)

var (
	utkGenders = map[string]string{"0": "male", "1": "female"}
	utkRaces   = map[string]string{"0": "White", "1": "Black", "2": "Asian", "3": "Indian", "4": "other"}
)

func parseName(name string) (Picture, error) {
	begin := ageName.FindStringSubmatch(name)
	if begin == nil || len(begin[1]) > 1 && begin[1][0] == '0' {
		return Picture{}, errors.New("the name must begin with the age, then a character that is no letter or digit, such " +
			"as 25_a.jpg; name pictures so, or list them in a CSV file with the columns file and age")
	}
	age, err := parseAge(begin[1])
	if err != nil {
		return Picture{}, err
	}
	p := Picture{Age: age}
	if labels := utkName.FindStringSubmatch(name); labels != nil {
		p.Groups = []string{utkGenders[labels[1]], utkRaces[labels[2]]}
	}
	return p, nil
}

// columns holds the column indexes of a CSV file; those other than file and age
// are -1 if the column is missing.
type columns struct{ file, age, group, collection, estimate, pad, held, training int }

func readCSV(path string) ([]Picture, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the operator names the set
	if err != nil {
		return nil, err
	}
	in := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	in.TrimLeadingSpace = true
	in.FieldsPerRecord = -1 // checked below, so that the error names the line
	var set []Picture
	at := columns{file: 0, age: 1, group: 2, collection: -1, estimate: -1, pad: -1, held: -1, training: -1}
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
	column := func(name string) int { return slices.Index(names, name) }
	at := columns{file: column("file"), age: column("age"), group: column("group"), collection: column("collection"),
		estimate: column("estimate"), pad: column("pad"), held: column("held"),
		training: column("in_training")}
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
	for group := range strings.SplitSeq(at.text(row, at.group), ";") {
		if group = strings.TrimSpace(group); group != "" {
			p.Groups = append(p.Groups, group)
		}
	}
	p.Collection = at.text(row, at.collection)
	if at.estimate >= 0 && at.estimate < len(row) {
		years, err := strconv.ParseFloat(strings.TrimSpace(row[at.estimate]), 64)
		if err != nil || !(years >= 0 && years <= 120) {
			return Picture{}, fmt.Errorf("%s: the estimate must be a number from 0 to 120", p.Path)
		}
		p.Estimate = &years
	}
	if err := at.readPad(row, &p); err != nil {
		return Picture{}, err
	}
	p.Held, p.Training = at.text(row, at.held) == "1", at.text(row, at.training)
	return p, nil
}

// text returns a column's text, or "" if the row lacks it.
func (columns) text(row []string, column int) string {
	if column < 0 || column >= len(row) {
		return ""
	}
	return strings.TrimSpace(row[column])
}

func (at columns) readPad(row []string, p *Picture) error {
	text := at.text(row, at.pad)
	if text == "" {
		return nil
	}
	pad, err := strconv.ParseFloat(text, 64)
	if err != nil || !(pad >= 0 && pad <= 2) {
		return fmt.Errorf("%s: the pad must be a number from 0 to 2", p.Path)
	}
	p.Pad, p.padGiven = pad, true
	return nil
}

func parseAge(text string) (int, error) {
	age, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || age < 0 || age > 120 {
		return 0, errors.New("the age must be a whole number from 0 to 120")
	}
	return age, nil
}
