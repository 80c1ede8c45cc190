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

// columns are the columns of a CSV file by their names. It has at least file and age.
type columns []string

func readCSV(path string) ([]Picture, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the operator names the set
	if err != nil {
		return nil, err
	}
	in := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	in.TrimLeadingSpace = true
	in.FieldsPerRecord = -1 // checked below, so that the error names the line
	var set []Picture
	at := columns{"file", "age", "group"}
	for first := true; ; first = false {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return set, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if first {
			var heading columns
			for _, name := range row {
				heading = append(heading, strings.ToLower(strings.TrimSpace(name)))
			}
			if slices.Contains(heading, "file") && slices.Contains(heading, "age") {
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

func (at columns) picture(row []string) (p Picture, err error) {
	if len(row) <= max(slices.Index(at, "file"), slices.Index(at, "age")) {
		return p, errors.New("a row needs a file and an age, separated by a comma")
	}
	if p.Path = at.text(row, "file"); p.Path == "" {
		return p, errors.New("the file is missing")
	}
	if p.Age, err = parseAge(at.text(row, "age")); err != nil {
		return p, fmt.Errorf("%s: %w", p.Path, err)
	}
	for group := range strings.SplitSeq(at.text(row, "group"), ";") {
		if group = strings.TrimSpace(group); group != "" {
			p.Groups = append(p.Groups, group)
		}
	}
	if i := slices.Index(at, "estimate"); i >= 0 && i < len(row) {
		years, ok := number(row[i], 120)
		if !ok {
			return p, fmt.Errorf("%s: the estimate must be a number from 0 to 120", p.Path)
		}
		p.Estimate = &years
	}
	if text := at.text(row, "pad"); text != "" {
		if p.Pad, p.padGiven = number(text, 2); !p.padGiven {
			return p, fmt.Errorf("%s: the pad must be a number from 0 to 2", p.Path)
		}
	}
	p.Collection, p.Held, p.Training = at.text(row, "collection"), at.text(row, "held") == "1", at.text(row, "in_training")
	return p, nil
}

// text returns a column's text, or "" if the row lacks it.
func (at columns) text(row []string, column string) string {
	i := slices.Index(at, column)
	if i < 0 || i >= len(row) {
		return ""
	}
	return strings.TrimSpace(row[i])
}

// number reads a number from 0 to most.
func number(text string, most float64) (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return v, err == nil && v >= 0 && v <= most
}

func parseAge(text string) (int, error) {
	age, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || age < 0 || age > 120 {
		return 0, errors.New("the age must be a whole number from 0 to 120")
	}
	return age, nil
}
