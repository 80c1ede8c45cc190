package specimen

import (
	"context"
	"fmt"
	"io"

	"agegate/internal/lab/accuracy"
)

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
