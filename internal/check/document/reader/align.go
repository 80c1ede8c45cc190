package reader

import (
	"iter"
	"math"
	"slices"

	"agegate/internal/check/document/glyph"
	"agegate/internal/check/document/mrz"
)

// cell is the network's result for one place: the logarithms of the probabilities of
// each character, and of junk.
type cell = [glyph.Classes]float32

// grid holds the cells of every column of some rows.
type grid struct{ rows [][]cell }

// alignment is the position of a format on a grid.
type alignment struct {
	format mrz.Format
	row    int // the zone's first line
	column int // its first character
	score  float64
}

// look fills a grid from the rows of a zone and some columns beyond both ends.
func (s *search) look(rows []row) (g grid, first int) {
	low, high := rows[0].line.low, rows[0].line.high
	for _, r := range rows {
		low, high = min(low, r.line.low), max(high, r.line.high)
	}
	extra := min(max(46-(high-low+1), 3), 12)
	low, high = low-extra, min(high+extra, low+2*extra+60)
	g.rows = make([][]cell, len(rows))
	for i, r := range rows {
		for n := low; n <= high; n++ {
			g.rows[i] = append(g.rows[i], s.column(r.line, float64(n)))
		}
	}
	return g, low
}

// hidden is the lowest logarithm of a character's probability at a place that seems to
// show no character. The character may be hidden.
const hidden = -1.5

// minJunk is the minimum logarithm of the probability that a place shows no
// character.
const minJunk = -0.7

// lenient returns a copy of the grid in which every character is possible at places
// that show none. Then a part of the zone may be hidden or outside the picture.
func (g grid) lenient() grid {
	rows := make([][]cell, len(g.rows))
	for r, row := range g.rows {
		rows[r] = slices.Clone(row)
		for n, logs := range row {
			if logs[glyph.Junk] < minJunk {
				continue
			}
			for i := range glyph.Junk {
				rows[r][n][i] = max(logs[i], hidden)
			}
		}
	}
	return grid{rows}
}

// column classifies the character at one place. A place outside the picture is junk.
func (s *search) column(l *line, n float64) (logs cell) {
	p := l.place(n, 0)
	if p.X < 0 || p.Y < 0 || p.X > float64(s.img.Rect.Dx()) || p.Y > float64(s.img.Rect.Dy()) || s.left <= 0 {
		for i := range logs {
			logs[i] = worst
		}
		logs[glyph.Junk] = 0
		return logs
	}
	return *s.classify(p)
}

// worst is the lowest value, as a logarithm, that a single cell contributes to an
// alignment. Without this limit, one blot would outweigh everything else.
const worst = -7

// align tries the formats at every position of the grid, and returns the alignment that
// explains all cells best. Cells inside the zone must be characters that the format
// allows there, and cells outside must be junk.
func (g grid) align(formats []mrz.Format) (best alignment, ok bool) {
	junk, all := g.junk()
	best.score = math.Inf(-1)
	for a := range g.alignments(formats) {
		a.score = all
		for l := range a.format.Lines() {
			for i := range a.format.Length() {
				_, log := g.best(a.row+l, a.column+i, a.format.Allowed(l, i))
				a.score += log - junk[a.row+l][a.column+i]
			}
		}
		if a.score > best.score {
			best = a
		}
	}
	return best, !math.IsInf(best.score, -1)
}

// alignments returns every position of the formats on the grid, without a score.
func (g grid) alignments(formats []mrz.Format) iter.Seq[alignment] {
	return func(yield func(alignment) bool) {
		for _, format := range formats {
			for row := range len(g.rows) - format.Lines() + 1 {
				for column := range len(g.rows[0]) - format.Length() + 1 {
					if !yield(alignment{format: format, row: row, column: column}) {
						return
					}
				}
			}
		}
	}
}

// junk returns the logarithm of the probability that a cell is junk, for every
// cell and for all together.
func (g grid) junk() (each [][]float64, all float64) {
	each = make([][]float64, len(g.rows))
	for r, row := range g.rows {
		for _, logs := range row {
			log := max(float64(logs[glyph.Junk]), worst)
			each[r] = append(each[r], log)
			all += log
		}
	}
	return each, all
}

// best returns the likeliest allowed character of a cell.
func (g grid) best(row, column int, allowed mrz.Set) (char int, log float64) {
	logs := &g.rows[row][column]
	char, log = -1, math.Inf(-1)
	for c := range glyph.Junk {
		if v := float64(logs[c]); allowed>>c&1 == 1 && v > log {
			char, log = c, v
		}
	}
	return char, max(log, worst)
}

// read returns the lines of the zone under an alignment, and the mean logarithm
// of their characters' probabilities.
func (g grid) read(a alignment) (lines []string, mean float64) {
	for l := range a.format.Lines() {
		var text []byte
		for i := range a.format.Length() {
			char, log := g.best(a.row+l, a.column+i, a.format.Allowed(l, i))
			text = append(text, mrz.Alphabet[char])
			mean += log
		}
		lines = append(lines, string(text))
	}
	return lines, mean / float64(a.format.Lines()*a.format.Length())
}
