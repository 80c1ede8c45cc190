package main

import (
	"fmt"
	"math"

	"agegate/internal/check/document/portrait"
)

// report prints how many pairs of strangers match, by the labels that they share.
func report(r *portrait.Reference, pairs []pair, faces []face) {
	row := func(name string, of func(a, b face) bool) {
		matched, total := make([]float64, len(faces)), make([]float64, len(faces))
		for _, p := range pairs {
			if !of(faces[p.a], faces[p.b]) {
				continue
			}
			for _, i := range []int{p.a, p.b} {
				total[i]++
				if r.Match(float64(p.similarity)) {
					matched[i]++
				}
			}
		}
		share, half := shareOf(matched, total)
		fmt.Printf("| %s | %.2f (%.2f–%.2f) |\n", name, 100*share, 100*max(0, share-half), 100*(share+half))
	}
	fmt.Println("| strangers of one sex | match, % (95 %) |\n|---|---|")
	row("all", func(_, _ face) bool { return true })
	for _, sex := range []string{"female", "male"} {
		row(sex, func(a, _ face) bool { return a.sex == sex })
	}
	adults := func(a, b face) bool { return min(a.age, b.age) >= 18 }
	row("adults", adults)
	row("adults, ages at most 10 years apart",
		func(a, b face) bool { return adults(a, b) && max(a.age, b.age)-min(a.age, b.age) <= 10 })
	row("adults of one group, ages at most 10 years apart", func(a, b face) bool {
		return adults(a, b) && a.group == b.group && max(a.age, b.age)-min(a.age, b.age) <= 10
	})
	row("one 13 to 17, the other 18 to 30", func(a, b face) bool {
		young, old := min(a.age, b.age), max(a.age, b.age)
		return young >= 13 && young <= 17 && old >= 18 && old <= 30
	})
	for _, group := range []string{"White", "Black", "Asian", "Indian", "other"} {
		row("both "+group, func(a, b face) bool { return a.group == group && b.group == group })
	}
}

// shareOf returns the share of matches and half the width of its 95 % interval.
// Pairs that share a face are not independent, so the variance is estimated from
// the shares of the single faces (Hoeffding's projection of a U-statistic: four
// times their variance divided by their number).
func shareOf(matched, total []float64) (share, half float64) {
	var m, t, n float64
	for i := range total {
		m, t = m+matched[i], t+total[i]
		if total[i] > 0 {
			n++
		}
	}
	share = m / max(t, 1)
	var square float64
	for i := range total {
		if total[i] > 0 {
			d := matched[i]/total[i] - share
			square += d * d
		}
	}
	return share, 1.96 * 2 * math.Sqrt(square/max(n*n, 1))
}
