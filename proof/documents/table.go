package documents

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"agegate/internal/check/document/mrz"
	"agegate/internal/lab/accuracy"
)

// Marks of the reader.
const (
	minRead     = 0.97 // of the documents of ease Easy and Medium, within MaxFrames
	minReadHard = 0.95 // of those of ease Hard
	maxRead     = 500 * time.Millisecond
	maxMissed   = time.Second
)

// Negatives counts pictures without a zone in which one was found.
type Negatives struct {
	Kind     string
	Looked   int
	Accepted int
	Misses   []time.Duration
}

// Write prints the tables and reports whether every mark is met.
func Write(w io.Writer, outcomes []Outcome, negatives []Negatives) (met bool) {
	met = true
	judge := func(holds bool) string {
		if holds {
			return "met"
		}
		met = false
		return "MISSED"
	}
	fmt.Fprint(w, "| documents | read within three frames, % (95 %) | in the first | mark |\n|---|---|---|---|\n")
	for _, ease := range Eases {
		mark := minRead
		if ease.Name == Hard.Name {
			mark = minReadHard
		}
		some := only(outcomes, func(o Outcome) bool { return o.Ease.Name == ease.Name })
		share, first := shares(some)
		fmt.Fprintf(w, "| %s | %s | %s | %.0f %%: %s |\n", ease.Name, share, first, 100*mark, judge(share.Rate >= mark))
	}
	for _, format := range mrz.Formats {
		for _, ease := range Eases {
			share, first := shares(only(outcomes,
				func(o Outcome) bool { return o.Format == format && o.Ease.Name == ease.Name }))
			fmt.Fprintf(w, "| %s, %s | %s | %s | |\n", format, ease.Name, share, first)
		}
	}
	for part := range Rolls {
		const width = 360 / Rolls
		share, first := shares(only(outcomes, func(o Outcome) bool { return int(o.Roll)/width == part }))
		fmt.Fprintf(w, "| turned by %d° to %d° | %s | %s | |\n", part*width, (part+1)*width, share, first)
	}
	wrong, misnamed, valid := 0, 0, 0
	var reads, misses []time.Duration
	for _, o := range outcomes {
		wrong, misnamed, valid = wrong+o.Wrong, misnamed+o.Misnamed, valid+len(o.Reads)
		reads, misses = append(reads, o.Reads...), append(misses, o.Misses...)
	}
	fmt.Fprintf(w, "\nWrong dates among valid reads: %s; mark 0: %s\n", of(wrong, valid), judge(wrong == 0))
	fmt.Fprintf(w, "Another format among valid reads: %s; mark 0: %s\n", of(misnamed, valid), judge(misnamed == 0))
	for _, n := range negatives {
		fmt.Fprintf(w, "Pictures without a zone, %s, accepted: %s; mark 0: %s\n", n.Kind, of(n.Accepted, n.Looked),
			judge(n.Accepted == 0))
		misses = append(misses, n.Misses...)
	}
	fmt.Fprintf(w, "Processor time of a frame that is read: %s; mark p95 %s: %s\n", Times(reads), maxRead,
		judge(percentile(reads, 95) <= maxRead))
	fmt.Fprintf(w, "Processor time of a frame that is not: %s; mark %s: %s\n", Times(misses), maxMissed,
		judge(percentile(misses, 100) <= maxMissed))
	return met
}

// WriteHidden prints how many documents are read of which a part is hidden, and
// reports whether every mark is met.
func WriteHidden(w io.Writer, outcomes []HiddenOutcome) (met bool) {
	met = true
	fmt.Fprint(w, "\n| documents | zone read | portrait found too | wrong dates | mark |\n|---|---|---|---|---|\n")
	for _, o := range outcomes {
		required, result := int(math.Ceil(o.mark*float64(o.All)-1e-9)), "met"
		if o.Agreed < required || o.Wrong > 0 {
			met, result = false, "MISSED"
		}
		fmt.Fprintf(w, "| %s | %d of %d | %d | %d | %d, none wrong: %s |\n", o.Name, o.Agreed, o.All, o.Went, o.Wrong,
			required, result)
	}
	return met
}

// of formats a count out of a total, with the upper limit of its confidence
// interval.
func of(count, all int) string {
	return fmt.Sprintf("%d of %d (95 %%: at most %.2f %%)", count, all, 100*accuracy.NewShare(count, all).High)
}

func only(outcomes []Outcome, keep func(Outcome) bool) (kept []Outcome) {
	for _, o := range outcomes {
		if keep(o) {
			kept = append(kept, o)
		}
	}
	return kept
}

// shares returns how many documents were read within all frames, and in the
// first.
func shares(outcomes []Outcome) (all, first accuracy.Share) {
	var a, f int
	for _, o := range outcomes {
		if o.Read {
			a++
			if o.Frames == 1 {
				f++
			}
		}
	}
	return accuracy.NewShare(a, len(outcomes)), accuracy.NewShare(f, len(outcomes))
}

// Times describes the distribution of processor times.
func Times(of []time.Duration) string {
	return fmt.Sprintf("p50 %s, p95 %s, longest %s, of %d", ms(percentile(of, 50)), ms(percentile(of, 95)),
		ms(percentile(of, 100)), len(of))
}

func ms(d time.Duration) string { return d.Round(time.Millisecond).String() }

func percentile(of []time.Duration, p int) time.Duration {
	if len(of) == 0 {
		return 0
	}
	sorted := slices.Clone(of)
	slices.SortFunc(sorted, cmp.Compare[time.Duration])
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}
