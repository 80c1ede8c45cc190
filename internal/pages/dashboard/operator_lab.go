package dashboard

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"agegate/internal/backoffice/insight"
	"agegate/internal/check/age/curve"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
)

const labPath = operatorPath + "/lab"

// Lab is what the threshold lab knows about this process's estimator.
type Lab struct {
	Curve  *curve.Curve // nil: see Why
	Why    LabGap       // why there is none
	Margin float64      // in force, years
}

// LabGap says why there is no curve.
type LabGap string

// The reasons.
const (
	LabOff     LabGap = "off"     // there is no estimator
	LabMissing LabGap = "missing" // there is no file
	LabOther   LabGap = "other"   // the file is about another estimator
	LabBroken  LabGap = "broken"  // the file cannot be read
	// LabElsewhere: this process has no models, because others serve the hosted page.
	LabElsewhere LabGap = "elsewhere"
)

// The ranges that the form accepts. A curve covers every cutoff in them.
const (
	labOldest  = 60 // target age
	labMargins = 20 // the largest margin
)

// maxFalse is the maximum share of the five ages below the target that passes at
// the recommended margin, as in agegate-lab eval.
const maxFalse = .05

func (p *Pages) lab() desk.Feature {
	keys := []string{"lab.problem.target", "lab.problem.margin", "lab.share", "lab.range", "lab.year_0", "lab.year_1",
		"lab.year_2"}
	for _, why := range []LabGap{LabOff, LabMissing, LabOther, LabBroken, LabElsewhere} {
		keys = append(keys, "lab.gap."+string(why))
	}
	return desk.Feature{
		Routes:  []desk.Route{{Method: http.MethodGet, Path: labPath, MinRole: desk.Operator, Handle: p.showLab}},
		Screens: []string{"lab"},
		Keys:    keys,
	}
}

type labView struct {
	desk.Layout
	Gap            LabGap // why there are no figures; then only Seen is shown
	Asked          map[string]string
	Wrong          map[string]*page.Text
	Target, Margin int
	Running        string // AGEGATE_AGE_MARGIN
	Cutoff         int
	Set            string // the variable to set
	Minors, Adults labShare
	Best           int // the recommended margin, -1 if none is small enough
	BestShare      labShare
	Bands          []labBand
	Below          []labBand // the five ages below the target, one by one
	Years          []labYear
	Chart          labChart
	Curve          *curve.Curve
	Seen           []seenView
	MarginMax      int
}

// Problem returns what is wrong with a field, or nil.
func (v *labView) Problem(name string) *page.Text { return v.Wrong[name] }

// labShare is a share with its interval, and what it is of.
type labShare struct {
	From, To, Of, N int64
	Share, Range    page.Text
	rate            insight.Rate
}

// labBand is a row of a table.
type labBand struct {
	Ages string
	labShare
}

// labYear is a row about a margin one year smaller or larger: the shares of an age
// range that pass a target at the chosen margin less one, at it, and at it and one.
type labYear struct {
	Target int
	Shares [3]labShare
}

// yearTargets are the target ages of which labYears are shown.
var yearTargets = []int{13, 15, 16, 18, 21}

// seenView shows live sessions of one target age.
type seenView struct {
	Target               int
	Decided, Spoof, Sent string
	Share                labShare
}

func (p *Pages) showLab(r *desk.Request) error {
	v := &labView{
		Gap: p.cfg.Lab.Why, Curve: p.cfg.Lab.Curve, Running: strconv.FormatFloat(p.cfg.Lab.Margin, 'f', -1, 64),
		Wrong: map[string]*page.Text{}, MarginMax: labMargins,
	}
	v.Target, v.Margin = 18, min(int(p.cfg.Lab.Margin), labMargins)
	v.Asked = map[string]string{}
	v.ask(r, "target", &v.Target, minAge, labOldest)
	v.ask(r, "margin", &v.Margin, 0, labMargins)
	seen, err := p.cfg.Insight.SeenByAge(r.Ctx())
	if err != nil {
		return err
	}
	for _, s := range seen {
		v.Seen = append(v.Seen, seenView{
			s.TargetAge, figure(s.Decided()), figure(s.Spoof), figure(s.Sent), newShare(0, 0, s.Sent, s.Decided()),
		})
	}
	if len(v.Wrong) > 0 {
		return r.Show(http.StatusUnprocessableEntity, "lab", v)
	}
	if v.Curve != nil {
		v.fill(p.cfg.Lab.Margin)
	}
	return r.Show(http.StatusOK, "lab", v)
}

// ask reads a number of the query into to, which has the default.
func (v *labView) ask(r *desk.Request, name string, to *int, low, high int) {
	v.Asked[name] = strconv.Itoa(*to)
	typed := strings.TrimSpace(r.QueryParam(name))
	if typed == "" {
		return
	}
	n, err := strconv.Atoi(typed)
	if err != nil || n < low || n > high {
		v.Asked[name] = typed
		text := page.Say("lab.problem."+name, "least", low, "most", high)
		v.Wrong[name] = &text
		return
	}
	*to, v.Asked[name] = n, strconv.Itoa(n)
}

// fill computes the figures of the chosen target and margin.
func (v *labView) fill(running float64) {
	v.Cutoff = v.Target + v.Margin
	v.Set = fmt.Sprintf("AGEGATE_AGE_MARGIN=%d", v.Margin)
	v.Minors = v.share(13, 17, v.Cutoff)
	v.Adults = v.share(v.Target+7, v.Target+17, v.Cutoff)
	v.Best = -1
	for margin := labMargins; margin >= 0; margin-- {
		below := v.share(v.Target-5, v.Target-1, v.Target+margin)
		if below.Of == 0 || below.rate.Share > maxFalse {
			break
		}
		v.Best, v.BestShare = margin, below
	}
	for _, ages := range bandsOf(v.Target) {
		if share := v.share(ages[0], ages[1], v.Cutoff); share.Of > 0 {
			v.Bands = append(v.Bands, labBand{v.ages(ages), share})
		}
	}
	for years := v.Target - 5; years < v.Target; years++ {
		v.Below = append(v.Below, labBand{strconv.Itoa(years), v.share(years, years, v.Cutoff)})
	}
	for _, target := range yearTargets {
		for _, ages := range bandsOf(target)[1:4] {
			row := labYear{Target: target}
			for i := range row.Shares {
				row.Shares[i] = v.share(ages[0], ages[1], target+v.Margin-1+i)
			}
			v.Years = append(v.Years, row)
		}
	}
	v.Chart = v.chart(running)
}

// bandsOf returns the age ranges, both ends included, for which figures of a
// target age are shown; the second is the five ages below it.
func bandsOf(target int) [][2]int {
	return [][2]int{
		{0, target - 6}, {target - 5, target - 1}, {target, target + 6}, {target + 7, target + 17},
		{target + 18, target + 32}, {target + 33, 120},
	}
}

// ages returns a band's ages for which there are pictures, as text.
func (v *labView) ages(band [2]int) string {
	all := v.Curve.Ages
	return fmt.Sprintf("%d–%d", max(band[0], all[0].Years), min(band[1], all[len(all)-1].Years))
}

func (v *labView) share(from, to, cutoff int) labShare {
	n, of := v.Curve.Passing(from, to, float64(cutoff))
	return newShare(int64(from), int64(to), n, of)
}

func newShare(from, to, n, of int64) labShare {
	rate := insight.RateOf(n, of)
	s := labShare{From: from, To: to, Of: of, N: n, rate: rate}
	s.Share = page.Say("lab.share", tenths("", rate.Share)...)
	s.Range = page.Say("lab.range", append(tenths("l", rate.Low), tenths("h", rate.High)...)...)
	return s
}

// tenths returns a share in per cent as two values, before and after the decimal
// separator, which depends on the language.
func tenths(prefix string, share float64) []any {
	n := int(math.Round(1000 * share))
	return []any{prefix + "whole", n / 10, prefix + "tenth", n % 10}
}
