package reader

import (
	"math"
	"slices"

	"agegate/internal/check/document/glyph"
	"agegate/internal/check/document/mrz"
)

// grid holds the network's output for every column of some rows.
type grid struct {
	rows [][][glyph.Classes]float32
}

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
	g.rows = make([][][glyph.Classes]float32, len(rows))
	for i, r := range rows {
		for n := low; n <= high; n++ {
			g.rows[i] = append(g.rows[i], s.column(r.line, float64(n)))
		}
	}
	return g, low
}

// hidden is the lowest logarithm of a character at a place that shows none: it may
// be hidden.
const hidden = -1.5

// minJunk is the minimum logarithm of the probability that a place shows no
// character.
const minJunk = -0.7

// lenient returns the grid with characters possible at places that show none, so
// that a part of the zone may be hidden or lie outside the picture.
func (g grid) lenient() grid {
	rows := make([][][glyph.Classes]float32, len(g.rows))
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

// column classifies the character at one place; a place outside the picture is
// junk.
func (s *search) column(l *line, n float64) (logs [glyph.Classes]float32) {
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

// worst is the lowest value that a single cell contributes to an alignment, as a
// logarithm, so that one blot does not outweigh everything else.
const worst = -7

// align tries formats at every position of the grid. It returns the
// alignment that best explains all cells: the cells inside as characters that the
// format allows there, those outside as junk.
func (g grid) align(formats []mrz.Format) (best alignment, ok bool) {
	columns := len(g.rows[0])
	var all float64 // log probability if every cell is junk
	junk := make([][]float64, len(g.rows))
	for r, row := range g.rows {
		for _, logs := range row {
			v := max(float64(logs[glyph.Junk]), worst)
			junk[r] = append(junk[r], v)
			all += v
		}
	}
	best.score = math.Inf(-1)
	for _, format := range formats {
		for top := 0; top+format.Lines() <= len(g.rows); top++ {
			for start := 0; start+format.Length() <= columns; start++ {
				score := all
				for l := range format.Lines() {
					for i := range format.Length() {
						_, v := g.best(top+l, start+i, format.Allowed(l, i))
						score += v - junk[top+l][start+i]
					}
				}
				if score > best.score {
					best = alignment{format, top, start, score}
				}
			}
		}
	}
	return best, !math.IsInf(best.score, -1)
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
