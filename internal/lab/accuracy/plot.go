package accuracy

import (
	"fmt"
	"html/template"
	"io"
)

// plotTemplate draws ages from 0 to 80 years at ten pixels a year.
var plotTemplate = template.Must(template.New("plot").Funcs(template.FuncMap{
	"x": func(years any) string { return fmt.Sprintf("%.1f", 60+10*number(years)) },
	"y": func(years any) string { return fmt.Sprintf("%.1f", 840-10*number(years)) },
}).Parse(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 900" font-family="sans-serif" font-size="14">
<title>Estimated age by true age, target {{.Target}}</title>
<rect width="900" height="900" fill="#fff"/>
<g stroke="#ddd">{{range .Ticks}}<path d="M{{x .}} 40V840M60 {{y .}}H860"/>{{end}}</g>
<g text-anchor="middle">{{range .Ticks}}<text x="{{x .}}" y="862">{{.}}</text>{{end}}<text x="460" y="888">true age, years</text></g>
<g text-anchor="end">{{range .Ticks}}<text x="52" y="{{y .}}" dy="5">{{.}}</text>{{end}}</g>
<text transform="translate(16 440) rotate(-90)" text-anchor="middle">estimate, years: median and the middle 80 % of pictures</text>
<path d="M60 840L860 40" stroke="#888" fill="none"/>
<path d="M{{x .Target}} 40V840" stroke="#c33" stroke-dasharray="6 4"/>
{{range .Cutoffs}}<path d="M60 {{y .}}H860" stroke="#39c" stroke-dasharray="6 4"/><text x="856" y="{{y .}}" dy="-3" text-anchor="end" fill="#267">cutoff {{.}}</text>
{{end}}<g stroke="#234" stroke-width="3">{{range .Spread}}<path d="M{{x .Age}} {{y .Low}}V{{y .High}}"/>{{end}}</g>
<g fill="#234">{{range .Spread}}<circle cx="{{x .Age}}" cy="{{y .Median}}" r="5"/>{{end}}</g>
</svg>
`))

// WritePlot draws the spread of estimates by true age as SVG.
func (r Report) WritePlot(out io.Writer) error {
	view := struct {
		Report
		Ticks, Cutoffs []int
	}{Report: r}
	for years := 0; years <= 80; years += 10 {
		view.Ticks = append(view.Ticks, years)
	}
	for _, margin := range r.Margins {
		view.Cutoffs = append(view.Cutoffs, r.Target+margin)
	}
	return plotTemplate.Execute(out, view)
}

// number formats a figure of the report for the plot.
func number(years any) float64 {
	switch v := years.(type) {
	case int:
		return min(float64(v), 80)
	case float64:
		return min(max(v, 0), 80)
	}
	panic("not a number of years")
}
