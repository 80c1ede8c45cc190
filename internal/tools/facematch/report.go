package main

import (
	"fmt"
	"math"
	"slices"

	"agegate/internal/check/document/portrait"
	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
	"agegate/internal/lab/measured"
)

// pair is two strangers of one sex of one collection.
type pair struct {
	a, b int32
	// similarity of both pictures, that without what the crowds subtract, and that with the
	// first as a poor portrait: NaN without one
	plain, bare, worn float32
}

// report prints and returns how many pairs of strangers match, by the labels that
// they share.
func report(r *portrait.Reference, faces []face, rows []row) (figures []measured.Match) {
	pairs := compare(r, faces)
	fmt.Println("| strangers of one sex | match, % (95 %) | with a poor portrait, % (95 %) | " +
		"threshold at which 1 % match (95 %) | match if crowds do not count, % (95 %) |\n|---|---|---|---|---|")
	for _, collection := range collections(faces) {
		within := func(of func(a, b face) bool) func(a, b face) bool {
			return func(a, b face) bool { return a.collection == collection && of(a, b) }
		}
		for _, row := range rows {
			t := tally{r: r, faces: faces}
			if t.add(pairs, within(row.of)); len(t.plain) >= fewest {
				m := measured.Match{Collection: collection, Strangers: row.name, Plain: t.share(plain), Poor: t.share(worn)}
				shown, bare := m.Shown(), measured.Match{Plain: t.share(bare)}.Shown()
				fmt.Printf("| %s: %s | %s | %s | %s | %s |\n", collection, row.name, shown[0], shown[1], t.threshold(), bare[0])
				figures = append(figures, m)
			}
		}
	}
	return figures
}

// refusals prints how many poor portraits are refused to the face that they show, and how
// many would be if crowds did not count.
func refusals(r *portrait.Reference, faces []face, rows []row) {
	alone := *r
	alone.Crowd = [inference.IdentitySize + 1]float64{}
	fmt.Println("\n| the same picture as a poor portrait | refused, % | if crowds do not count, % | of |\n" +
		"|---|---|---|---|")
	for _, collection := range collections(faces) {
		for _, row := range rows {
			var with, without, of int
			for _, f := range faces {
				if f.worn == nil || f.collection != collection || !row.of(f, f) {
					continue
				}
				of++
				if !r.Match(r.Similarity(f.worn, f.features)) {
					with++
				}
				if !r.Match(alone.Similarity(f.worn, f.features)) {
					without++
				}
			}
			if of >= fewestRefused {
				fmt.Printf("| %s: %s | %.1f | %.1f | %d |\n", collection, row.name, 100*float64(with)/float64(of),
					100*float64(without)/float64(of), of)
			}
		}
	}
}

// The numbers of pairs and of portraits from which a row is printed.
const (
	fewest        = 300
	fewestRefused = 25
)

func collections(faces []face) []string {
	return distinct(faces, func(f face) string { return f.collection })
}

func groups(faces []face) []string { return distinct(faces, func(f face) string { return f.group }) }

func distinct(faces []face, of func(face) string) (names []string) {
	for _, f := range faces {
		names = append(names, of(f))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

type row struct {
	name string
	of   func(a, b face) bool
}

func rows(faces []face) []row {
	near := func(a, b face) bool {
		young, old := min(a.age, b.age), max(a.age, b.age)
		return young >= 18 && old <= 45 && old-young <= 10
	}
	all := []row{
		{"all", func(_, _ face) bool { return true }},
		{"adults", func(a, b face) bool { return min(a.age, b.age) >= 18 }},
		{"18 to 45, at most 10 years apart", near},
		{"the same, one group", func(a, b face) bool { return near(a, b) && a.group == b.group }},
		{"one 13 to 17, the other 18 to 30", func(a, b face) bool {
			young, old := min(a.age, b.age), max(a.age, b.age)
			return young >= 13 && young <= 17 && old >= 18 && old <= 30
		}},
	}
	for _, group := range groups(faces) {
		for _, sex := range []string{"female", "male"} {
			all = append(all, row{group + ", " + sex + ", 18 to 45, at most 10 years apart", func(a, b face) bool {
				return near(a, b) && a.group == group && b.group == group && a.sex == sex
			}})
		}
	}
	return all
}

// young are the rows of the youngest adults, and that of all adults over 30.
func young(faces []face) []row {
	all := []row{{"over 30", func(a, b face) bool { return min(a.age, b.age) > 30 }}}
	for _, group := range groups(faces) {
		for _, sex := range []string{"female", "male"} {
			all = append(all, row{group + ", " + sex + ", 18 to 26", func(a, b face) bool {
				return min(a.age, b.age) >= 18 && max(a.age, b.age) <= 26 && a.group == group && b.group == group && a.sex == sex
			}})
		}
	}
	return all
}

// compare returns every pair of one sex of one collection.
func compare(r *portrait.Reference, faces []face) (pairs []pair) {
	plain := describe(r, faces, func(f face) *vision.Features { return f.features })
	worn := describe(r, faces, func(f face) *vision.Features { return f.worn })
	for i, f := range faces {
		for j := range i {
			if f.sex != faces[j].sex || f.collection != faces[j].collection {
				continue
			}
			p := pair{a: int32(i), b: int32(j), worn: float32(math.NaN())}
			p.plain = float32(plain.similarity(r, i, plain, j))
			p.bare = float32(r.Join(plain.cosine(i, plain, j), plain.distance(i, plain, j), 0))
			if f.worn != nil {
				p.worn = float32(worn.similarity(r, i, plain, j))
			}
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// tally counts the pairs of a row.
type tally struct {
	r     *portrait.Reference
	faces []face
	pairs []pair
	plain []float32 // similarities, ascending
}

func (t *tally) add(pairs []pair, of func(a, b face) bool) {
	for _, p := range pairs {
		if of(t.faces[p.a], t.faces[p.b]) {
			t.pairs, t.plain = append(t.pairs, p), append(t.plain, p.plain)
		}
	}
	slices.Sort(t.plain)
}

// The similarities of a pair.
func plain(p pair) float32 { return p.plain }
func bare(p pair) float32  { return p.bare }
func worn(p pair) float32  { return p.worn }

func (t *tally) share(of func(pair) float32) (percent [3]float64) {
	share, half := t.above(t.r.Threshold, of)
	for i, v := range []float64{share, max(0, share-half), share + half} {
		percent[i] = math.Round(1e4*v) / 100
	}
	return percent
}

// threshold returns the one at which 1 % of the pairs match, and those at which as
// many match as the ends of the interval of that share say.
func (t *tally) threshold() string {
	at := func(share float64) float64 {
		n := len(t.plain)
		return float64(t.plain[min(n-1, max(0, int((1-share)*float64(n))))])
	}
	const share = 0.01
	_, half := t.above(at(share), plain)
	return fmt.Sprintf("%.2f (%.2f–%.2f)", at(share), at(share+half), at(share-half))
}

// above returns the share of pairs at or above the threshold and half the width of
// its 95 % interval. Pairs that share a face are not independent, so the variance is
// estimated from the shares of the single faces (Hoeffding's projection of a
// U-statistic: four times their variance divided by their number).
func (t *tally) above(threshold float64, of func(pair) float32) (share, half float64) {
	matched, total := make([]float64, len(t.faces)), make([]float64, len(t.faces))
	var m, all float64
	for _, p := range t.pairs {
		similarity := of(p)
		if similarity != similarity { // not a number: there is no poor portrait
			continue
		}
		total[p.a], total[p.b], all = total[p.a]+1, total[p.b]+1, all+1
		if float64(similarity) >= threshold {
			matched[p.a], matched[p.b], m = matched[p.a]+1, matched[p.b]+1, m+1
		}
	}
	share = m / max(all, 1)
	var square, n float64
	for i := range total {
		if total[i] > 0 {
			d := matched[i]/total[i] - share
			square, n = square+d*d, n+1
		}
	}
	return share, 1.96 * 2 * math.Sqrt(square) / max(n, 1)
}
