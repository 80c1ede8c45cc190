package dashboard

import (
	"fmt"
	"math"
	"slices"
	"time"

	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/page"
	"agegate/internal/rules/session"
)

// The size of a bar chart in its own units; style sheets stretch it.
const (
	chartWidth  = 720.0
	chartHeight = 160.0
)

// parts are the statuses stacked in a bar, from the bottom.
var parts = []session.Status{
	session.StatusPassed, session.StatusFallback, session.StatusSpoof, session.StatusExpired, session.StatusPending,
}

// chartView is a chart of stacked bars, with its numbers.
type chartView struct {
	Parts []chartPart // of the bars, from the bottom, which the legend names
	Rows  []chartRow
	Scale []int64 // numbers at the grid lines, from the top
	Grid  string  // the grid lines, in the syntax of SVG
	Zone  string  // of the labels
}

// Labels are the keys of the parts' names.
func (v chartView) Labels() []string {
	keys := make([]string, len(v.Parts))
	for i, part := range v.Parts {
		keys[i] = part.Text()
	}
	return keys
}

// chartPart is one status's part of all bars.
type chartPart struct {
	statusView
	Path string // in the syntax of SVG; empty where no bar has any
}

// chartRow is one bar in numbers.
type chartRow struct {
	Label  string
	Mark   string  // the label below the bar; empty for most bars
	Counts []int64 // by parts
}

// newChart draws the series of a window, with times of a zone.
func newChart(w insight.Window, series []insight.Point, zone *time.Location) chartView {
	v := chartView{Zone: zone.String()}
	for _, status := range parts {
		v.Parts = append(v.Parts, chartPart{statusView: statusView{status}})
	}
	if len(series) == 0 {
		return v
	}
	layout := "2006-01-02"
	if w == insight.WindowDay {
		layout = "15:04"
	}
	top := v.scale(slices.MaxFunc(series, func(a, b insight.Point) int { return int(a.Created - b.Created) }).Created)
	step := chartWidth / float64(len(series))
	for i, point := range series {
		x, width := round(float64(i)*step+step*.14), round(step*.72)
		at := point.Start.In(zone)
		row := chartRow{Label: at.Format(layout)}
		switch after := len(series) - 1 - i; { // the labels fit on a phone
		case w == insight.WindowDay && at.Hour()%4 == 0:
			row.Mark = at.Format("15:04")
		case w == insight.WindowWeek, w == insight.WindowMonth && after%5 == 0:
			row.Mark = at.Format("01-02")
		}
		y := chartHeight
		// in the order of parts
		row.Counts = []int64{point.Passed, point.Fallback, point.Spoof, point.Expired, point.Pending}
		for k, n := range row.Counts {
			if n > 0 {
				height := chartHeight * float64(n) / float64(top)
				y -= height
				v.Parts[k].Path += fmt.Sprintf("M%g %gh%gv%gh-%gz", x, round(y), width, round(height), width)
			}
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}

// scale writes round numbers at grid lines, at most five. It returns the highest of
// them, which is at least 1 and at least most.
func (v *chartView) scale(most int64) int64 {
	most = max(most, 1)
	unit, power := int64(1), int64(1)
	for i := 0; most > 4*unit; i++ { // 1, 2, 5, 10, 20, 50 and so on
		unit = power * []int64{2, 5, 10}[i%3]
		if i%3 == 2 {
			power *= 10
		}
	}
	lines := (most + unit - 1) / unit
	for i := lines; i >= 0; i-- {
		v.Scale = append(v.Scale, i*unit)
		y := min(max(chartHeight*float64(lines-i)/float64(lines), .5), chartHeight-.5)
		v.Grid += fmt.Sprintf("M0 %gH%g", round(y), chartWidth)
	}
	return lines * unit
}

// rowView is one row of a table that draws its number as a bar.
type rowView struct {
	Name  string // chooses the text
	N     int64
	Share page.Share
	Width float64 // 0 to 100
}

// newSteps returns rows of names and numbers, each with its share of the whole.
func newSteps(whole int64, names []string, numbers []int64) []rowView {
	rows := make([]rowView, len(names))
	for i, name := range names {
		share := float64(numbers[i]) / float64(max(whole, 1))
		rows[i] = rowView{Name: name, N: numbers[i], Share: page.Share(share), Width: round(100 * share)}
	}
	return rows
}

func round(x float64) float64 { return math.Round(10*x) / 10 }

// figureUpTo returns a count that was limited, as pages show it.
func figureUpTo(n, limit int64) any {
	if n >= limit {
		return page.AtLeast(limit)
	}
	return n
}
