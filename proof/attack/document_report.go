package attack

import (
	"fmt"
	"io"
	"text/tabwriter"

	"agegate/proof/documents"
)

const documentMeaning = `
Of documents: every row was played to the real capture with the real reader and
models. Accepted means that a zone and a portrait were taken, and that the
portrait matches the face before the camera. The documents are rendered, of
invented people, with one generated face and one disguise of it: what a real
camera makes of real documents, screens and prints is not shown. How often
strangers match is measured on real faces, see "Portrait and selfie".
`

// WriteDocuments prints the rows with an explanation.
func WriteDocuments(out io.Writer, rows []DocumentRow) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "document\tn\taccepted\trefused\tno match\tno result\terror rate\t95 % interval\t")
	for _, r := range rows {
		low, high := r.Interval()
		kind := "APCER"
		if r.BonaFide {
			kind = "BPCER"
		}
		note := fmt.Sprint(r.Reasons)
		if r.Beyond {
			note = "no goal"
		} else if !r.Met() {
			note += " MISSED"
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%s %.1f %%\t%.1f to %.1f %%\t%s\n",
			r.Species, r.N, r.Accepted, r.Spoof, r.Matched, r.NoCapture, kind, 100*r.Rate(), 100*low, 100*high, note)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, r := range rows {
		if r.BonaFide {
			fmt.Fprintf(out, "processor time of a frame, %s: %s\n", r.Species, documents.Times(r.Took))
		}
	}
	_, err := io.WriteString(out, documentMeaning)
	return err
}

// DocumentsMet reports whether every row keeps its goal and no wrong date was
// read.
func DocumentsMet(rows []DocumentRow) bool {
	for _, r := range rows {
		if !r.Met() || r.Wrong > 0 {
			return false
		}
	}
	return true
}
