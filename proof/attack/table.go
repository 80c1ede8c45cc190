package attack

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// meaning is printed with every table.
const meaning = `
APCER: attack presentations classified as bona fide; BPCER: persons refused,
here with those who got no result (ISO/IEC 30107-3). 95 % intervals after
Clopper and Pearson. Every row was played to the real capture with the real
models.

What these numbers show: each rule of the challenge works on the pictures it
was made for, and together they refuse the species listed. What they do not
show: how real prints, screens, masks and people fare. Apart from cartoons and
rendered heads, all clips are drawn from one generated face, and one disguise of
it, on ideal surfaces under one light; a real test takes some hundred people and many instruments. No error in
30 still allows a true rate of up to 12 %.

Beyond the challenge: whatever moves as a head does is a head to a challenge
that only asks for movement. Against a face that obeys on a screen stand the
screen's raster and the passive scores; against one that is injected in the
place of the camera, as good as the honest clips here, stands nothing.
`

// Write prints the rows and what they mean.
func Write(out io.Writer, rows []Row) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "presentation\tn\taccepted\tspoof\tno result\tended\terror rate\t95 % interval\t")
	for _, r := range rows {
		low, high := r.Interval()
		kind := "APCER"
		if r.BonaFide {
			kind = "BPCER"
		}
		note := ""
		switch {
		case r.Beyond:
			note = "no goal"
		case r.Body:
			note = fmt.Sprintf("%d without head turns, after a check without a result", r.Sat)
		case r.BonaFide:
			note = fmt.Sprintf("median %.1f s, %d frames, %d kB", r.Median.Seconds(), r.Frames, r.Bytes/1000)
		}
		if !r.Met() {
			note += " MISSED"
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%s %.1f %%\t%.1f to %.1f %%\t%s\n",
			r.Species, r.N, r.Accepted, r.Spoof, r.NoCapture, r.Ended, kind, 100*r.Rate(), 100*low, 100*high, note)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(out, meaning)
	return err
}

// Met reports whether every row keeps the goal.
func Met(rows []Row) bool {
	for _, r := range rows {
		if !r.Met() {
			return false
		}
	}
	return true
}
