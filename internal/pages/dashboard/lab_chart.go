package dashboard

import (
	"fmt"
	"slices"
	"strings"
)

// labChart shows the share of each band that passes, by margin.
type labChart struct {
	Lines    []labLine
	Interval string // the outline of the interval of the ages below the target
	Chosen   float64
	Running  float64 // -1 outside the chart
	Margins  []labMargin
	From, To int // cutoffs at the ends of the axis
}

// labLine is one band: the points of its line, and its name for the legend.
type labLine struct {
	Class, Ages, Points string
}

// labMargin is the numbers for one margin.
type labMargin struct {
	Margin, Cutoff int
	Chosen         bool
	Shares         []labShare // one for each line
}

// chart draws the margins from 0 to labMargins.
func (v *labView) chart(running float64) labChart {
	c := labChart{From: v.Target, To: v.Target + labMargins, Chosen: labX(float64(v.Margin)), Running: -1}
	if running <= labMargins {
		c.Running = labX(running)
	}
	for margin := range labMargins + 1 {
		c.Margins = append(c.Margins, labMargin{Margin: margin, Cutoff: v.Target + margin, Chosen: margin == v.Margin})
	}
	for i, ages := range bandsOf(v.Target) {
		var line, low, high []string
		for margin := range c.Margins {
			share := v.share(ages[0], ages[1], v.Target+margin)
			if share.Of == 0 {
				break
			}
			m := &c.Margins[margin]
			m.Shares = append(m.Shares, share)
			line = append(line, labPoint(margin, share.rate.Share))
			low = append(low, labPoint(margin, share.rate.Low))
			high = append(high, labPoint(margin, share.rate.High))
		}
		if line == nil {
			continue
		}
		if i == 1 {
			slices.Reverse(low) // the outline follows the upper ends and returns along the lower ones
			c.Interval = strings.Join(append(high, low...), " ")
		}
		c.Lines = append(c.Lines, labLine{fmt.Sprintf("band%d", i), v.ages(ages), strings.Join(line, " ")})
	}
	return c
}

func labX(margin float64) float64 { return round(chartWidth * margin / labMargins) }

// labPoint is a share at a margin, as SVG writes points.
func labPoint(margin int, share float64) string {
	return fmt.Sprintf("%.1f,%.1f", labX(float64(margin)), chartHeight*(1-share))
}
