package main

import (
	"fmt"
	"html"
	"strings"

	"agegate/internal/lab/measured"
)

// theme has the colours of a picture.
type theme struct {
	name, paper, ink, muted, grid string
	all, women, men               string
}

var themes = []theme{
	{"light", "#ffffff", "#1f2328", "#59636e", "#d8dee4", "#57606a", "#b0306a", "#0b62c4"},
	{"dark", "#0d1117", "#f0f6fc", "#9ea7b3", "#30363d", "#adb5bf", "#ff8cc0", "#79b8ff"},
}

// colour returns the colour for a sex.
func (t theme) colour(sex string) string {
	switch sex {
	case "female":
		return t.women
	case "male":
		return t.men
	}
	return t.all
}

const width = 840

// drawing is a picture that is being drawn.
type drawing struct {
	strings.Builder
	theme
}

func (d *drawing) rect(x, y, w, h float64, fill string) {
	fmt.Fprintf(d, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", x, y, w, h, fill)
}

func (d *drawing) stroke(x1, y1, x2, y2 float64, colour string, thick float64) {
	fmt.Fprintf(d, `<path d="M%.1f %.1fL%.1f %.1f" stroke="%s" stroke-width="%.1f"/>`+"\n", x1, y1, x2, y2, colour, thick)
}

// mark draws a point for a sex: a disc for all, a square for women, a diamond for
// men, so that they differ not only in colour.
func (d *drawing) mark(x, y float64, sex string) {
	colour := d.colour(sex)
	switch sex {
	case "female":
		d.rect(x-4, y-4, 8, 8, colour)
	case "male":
		fmt.Fprintf(d, `<path d="M%.1f %.1fl5.5 5.5l-5.5 5.5l-5.5-5.5z" fill="%s"/>`+"\n", x, y-5.5, colour)
	default:
		fmt.Fprintf(d, `<circle cx="%.1f" cy="%.1f" r="4.5" fill="%s"/>`+"\n", x, y, colour)
	}
}

func (d *drawing) text(x, y float64, anchor, colour string, size int, text string) {
	fmt.Fprintf(d, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s" font-size="%d">%s</text>`+"\n", x, y, anchor,
		colour, size, html.EscapeString(text))
}

// picture returns a picture with a title, which screen readers read.
func (t theme) picture(height float64, title string, draw func(d *drawing)) []byte {
	d := &drawing{theme: t}
	fmt.Fprintf(d, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %.0f" width="%d" height="%.0f" role="img" aria-labelledby="t" font-family="system-ui, sans-serif" fill="none">`+"\n",
		width, height, width, height)
	fmt.Fprintf(d, "<title id=\"t\">%s</title>\n", html.EscapeString(title))
	d.rect(0, 0, width, height, t.paper)
	draw(d)
	d.WriteString("</svg>\n")
	return []byte(d.String())
}

// legend draws the meaning of the marks.
func (d *drawing) legend(y float64) {
	for i, of := range []struct{ sex, name string }{{"", "all"}, {"female", "women"}, {"male", "men"}} {
		x := 60 + 90*float64(i)
		d.mark(x, y-4, of.sex)
		d.text(x+12, y, "start", d.ink, 13, of.name)
	}
	d.text(width-20, y, "end", d.muted, 13, "lines: 95 % bounds")
}

// For the picture of years.
const (
	yearsTitle = "Mean absolute error of the estimate by single year of age from 18 to 30, and sex, for each collection"
	maxError   = 10.0 // years, at the upper edge of the picture
	plotHeight = 190.0
	plotLeft   = 50.0
	panelGap   = 70.0
)

// yearsPicture draws the error by single year and sex, with a panel for each
// collection.
func yearsPicture(f measured.Fairness, t theme) []byte {
	panel := plotHeight + panelGap
	return t.picture(50+panel*float64(len(f.Collections)), yearsTitle, func(d *drawing) {
		d.legend(28)
		for i, c := range f.Collections {
			top := 80 + panel*float64(i)
			d.text(plotLeft, top-14, "start", d.ink, 15, c.Name+": mean absolute error, years")
			d.yearsPanel(c, top)
		}
	})
}

func (d *drawing) yearsPanel(c measured.Collection, top float64) {
	y := func(years float64) float64 { return top + plotHeight*(1-min(years, maxError)/maxError) }
	for years := 0.0; years <= maxError; years += 2 {
		d.stroke(plotLeft, y(years), width-20, y(years), d.grid, 1)
		d.text(plotLeft-10, y(years)+4, "end", d.muted, 12, fmt.Sprintf("%.0f", years))
	}
	step := (width - 20 - plotLeft) / float64(lastYear-firstYear+1)
	for years := firstYear; years <= lastYear; years++ {
		x := plotLeft + step*(float64(years-firstYear)+.5)
		d.text(x, top+plotHeight+18, "middle", d.muted, 12, fmt.Sprint(years))
		none := true
		for j, sex := range []string{"", "female", "male"} {
			if of, ok := cell(c, band{years, years}, sex, ""); ok {
				at := x + 14*float64(j-1)
				d.stroke(at, y(of.MAE.Low), at, y(of.MAE.High), d.colour(sex), 2)
				d.mark(at, y(of.MAE.Value), sex)
				none = false
			}
		}
		if none {
			d.text(x, y(.4), "middle", d.muted, 11, "n < 20")
		}
	}
}

// For the picture of groups.
const (
	groupsTitle = "Share that passes a target age of 18 at the default margin of 7 years, by group and sex, for each " +
		"collection: ages 13 to 17 and ages 25 to 35"
	rowHeight = 26.0
	nameWidth = 150.0
	columnGap = 40.0
)

// groupsPicture draws the pass rates by group and sex, in two columns of ages.
func groupsPicture(f measured.Fairness, t theme) []byte {
	height := 60.0
	for _, c := range f.Collections {
		height += 96 + rowHeight*float64(len(lines(c)))
	}
	return t.picture(height, groupsTitle, func(d *drawing) {
		d.legend(28)
		top := 70.0
		for _, c := range f.Collections {
			rows := lines(c)
			d.text(20, top, "start", d.ink, 15, c.Name)
			column := (width - 20 - nameWidth - columnGap) / 2
			d.groupsColumn(c, rows, minors, "pass wrongly, aged 13 to 17, %", nameWidth, top+28, column)
			d.groupsColumn(c, rows, adults, "pass, aged 25 to 35, %", nameWidth+column+columnGap, top+28, column)
			for i, l := range rows {
				d.text(20, top+54+rowHeight*float64(i), "start", d.ink, 13, l.name())
			}
			top += 96 + rowHeight*float64(len(rows))
		}
	})
}

func (d *drawing) groupsColumn(c measured.Collection, rows []line, b band, title string, left, top, wide float64) {
	x := func(share float64) float64 { return left + wide*share }
	bottom := top + 12 + rowHeight*float64(len(rows))
	d.text(left, top, "start", d.muted, 13, title)
	for percent := 0; percent <= 100; percent += 25 {
		at := x(float64(percent) / 100)
		d.stroke(at, top+8, at, bottom, d.grid, 1)
		d.text(at, bottom+16, "middle", d.muted, 12, fmt.Sprint(percent))
	}
	for i, l := range rows {
		y := top + 22 + rowHeight*float64(i)
		of, ok := cell(c, b, l.sex, l.group)
		if !ok {
			d.text(left+4, y+4, "start", d.muted, 11, none(l))
			continue
		}
		rate := pass(of)
		d.stroke(x(rate.Low), y, x(rate.High), y, d.colour(l.sex), 2)
		d.mark(x(rate.Share), y, l.sex)
		switch {
		case few(of) == "":
		case rate.Share > 0.5: // beside the line of its bounds
			d.text(left+4, y+4, "start", d.muted, 10, "too few to say")
		default:
			d.text(left+wide, y+4, "end", d.muted, 10, "too few to say")
		}
	}
}
