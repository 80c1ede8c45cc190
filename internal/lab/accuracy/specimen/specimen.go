// Package specimen reads the machine-readable zones of pictures in files. It
// measures how many it reads correctly, for pictures whose names begin with the
// birth date.
package specimen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"agegate/internal/check/document/date"
	"agegate/internal/check/document/reader"
	"agegate/internal/lab/accuracy"
	"agegate/internal/lab/picture"

	"golang.org/x/sync/errgroup"
)

// Read is the content of a picture's zone, as `agegate-lab document read` prints it.
// It has no other data of the person. Unknown fields are null.
type Read struct {
	File         string   `json:"file"`
	Format       *string  `json:"format"`
	Valid        bool     `json:"valid"`         // format, check digits and dates are correct
	BirthDate    *string  `json:"birth_date"`    // YYYY-MM-DD, or two of them with a slash between, if it is not whole
	ExpiryDate   *string  `json:"expiry_date"`   // 9999-12-31 for no end
	IssuingState *string  `json:"issuing_state"` // one to three letters
	Reasons      []string `json:"reasons"`       // what is missing or not correct; never null
}

// Reasons in addition to those of package mrz.
const (
	ReasonNotAPicture = "not_a_picture" // the file cannot be decoded
	ReasonTooLarge    = "picture_too_large"
	ReasonNoZone      = "no_zone"         // no line of OCR-B was found
	ReasonUnreadable  = "zone_unreadable" // lines were found, but not a whole zone
)

// Files lists the pictures of a directory, searched recursively, by their
// extensions; hidden files are skipped. A path to a file gives that file only.
func Files(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	files, err := accuracy.FilesIn(path, ".jpg", ".jpeg", ".png", ".gif", ".webp", ".bmp", ".tif", ".tiff")
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s holds no picture", path)
	}
	return files, err
}

// Each reads the pictures at a path, as Files lists them, and calls use with each result,
// in their order. It fails when a file cannot be opened or ctx ends.
func Each(ctx context.Context, path string, use func(Read) error) error {
	files, err := Files(path)
	if err != nil {
		return err
	}
	return each(ctx, files, use)
}

func each(ctx context.Context, files []string, use func(Read) error) error {
	r, err := reader.New()
	if err != nil {
		return err
	}
	results := make([]chan Read, len(files))
	for i := range results {
		results[i] = make(chan Read, 1)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		for _, result := range results {
			select {
			case read := <-result:
				if err := use(read); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	group.Go(func() error {
		o := accuracy.Options{Workers: runtime.GOMAXPROCS(0)}
		return accuracy.Each(ctx, len(files), o, func(_ context.Context, i int) error {
			read, err := one(r, files[i], time.Now())
			if err == nil {
				results[i] <- read
			}
			return err
		})
	})
	return group.Wait()
}

func one(r *reader.Reader, path string, now time.Time) (Read, error) {
	img, err := picture.Open(path)
	switch {
	case errors.Is(err, picture.ErrNotAPicture):
		return Read{File: path, Reasons: []string{ReasonNotAPicture}}, nil
	case errors.Is(err, picture.ErrTooLarge):
		return Read{File: path, Reasons: []string{ReasonTooLarge}}, nil
	case err != nil:
		return Read{}, err
	}
	return describe(path, picture.Zone(r, img, now)), nil
}

func describe(path string, reading reader.Reading) Read {
	read := Read{File: path, Reasons: []string{}}
	switch reading.Finding {
	case reader.NothingFound:
		read.Reasons = append(read.Reasons, ReasonNoZone)
	case reader.LinesFound:
		read.Reasons = append(read.Reasons, ReasonUnreadable)
	case reader.ZoneRead:
		read.Format, read.Valid = known(reading.Format.String()), reading.Valid
		read.BirthDate, read.ExpiryDate = known(reading.BirthDate.String()), known(reading.ExpiryDate.String())
		read.IssuingState = known(reading.IssuingState)
		for _, reason := range reading.Reasons {
			read.Reasons = append(read.Reasons, string(reason))
		}
	}
	return read
}

// known returns a pointer to text, or nil if it is empty.
func known(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// birth reads a picture's label: a name that begins with the birth date as
// YYYYMMDD, followed by a character that is not a digit.
func birth(path string) (date.Date, error) {
	name := filepath.Base(path)
	digits := 0
	for digits < len(name) && name[digits] >= '0' && name[digits] <= '9' {
		digits++
	}
	day, err := time.Parse("20060102", name[:digits])
	if err != nil {
		return date.Date{}, fmt.Errorf("%s: the name must begin with the birth date as YYYYMMDD, like 19740812_a.jpg", path)
	}
	return date.Of(day), nil
}

// Report says how many labelled pictures were read correctly.
type Report struct {
	Pictures int `json:"pictures"`
	// Read counts the pictures whose zone was read, is valid and has the label's
	// birth date.
	Read accuracy.Share `json:"read"`
	// Wrong counts the pictures with another birth date than the label, out of
	// those whose zone is valid.
	Wrong   accuracy.Share `json:"wrong_birth_date"`
	Reasons []Count        `json:"reasons"` // why pictures were not read, the most frequent first
}

// Count is how many pictures had a reason.
type Count struct {
	Reason   string `json:"reason"`
	Pictures int    `json:"pictures"`
}

// Evaluate reads the labelled pictures at a path, as Files lists them. It calls progress
// after each.
func Evaluate(ctx context.Context, path string, progress func(done, total int)) (Report, error) {
	files, err := Files(path)
	if err != nil {
		return Report{}, err
	}
	labels := map[string]string{}
	for _, file := range files {
		date, err := birth(file)
		if err != nil {
			return Report{}, err
		}
		labels[file] = date.String()
	}
	var read, valid, done int
	reasons := map[string]int{}
	err = each(ctx, files, func(got Read) error {
		done++
		progress(done, len(files))
		switch {
		case got.Valid && got.BirthDate != nil && *got.BirthDate == labels[got.File]:
			read++
			valid++
		case got.Valid:
			valid++
		default:
			for _, reason := range got.Reasons {
				reasons[reason]++
			}
		}
		return nil
	})
	report := Report{
		Pictures: len(files), Read: accuracy.NewShare(read, len(files)), Wrong: accuracy.NewShare(valid-read, valid),
		Reasons: []Count{},
	}
	for _, reason := range accuracy.MostFrequent(reasons) {
		report.Reasons = append(report.Reasons, Count{reason, reasons[reason]})
	}
	return report, err
}

// WriteText writes the report for people, with tab-separated columns.
func (r Report) WriteText(w io.Writer) {
	fmt.Fprintf(w, "pictures\t%d\n", r.Pictures)
	fmt.Fprintf(w, "read, with the right birth date\t%s\n", r.Read)
	fmt.Fprintf(w, "wrong birth date, of those that hold\t%s\n", r.Wrong)
	for _, c := range r.Reasons {
		fmt.Fprintf(w, "not read: %s\t%d\n", c.Reason, c.Pictures)
	}
}
