package dashboard

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"agegate/internal/backoffice/drift"
	"agegate/internal/pages/page"
)

const driftPath = operatorPath + "/drift"

var lowerForm = &form{name: "drift_lower", problems: map[error]string{drift.ErrNotRaised: "not_raised"}}

func (p *Pages) drift() feature {
	f := feature{
		routes:  []route{{method: http.MethodGet, path: driftPath, minRole: operator, handle: p.showDrift}},
		screens: []string{"drift"},
		notices: []string{"drift_lowered"},
	}
	for _, family := range append(drift.Families(), drift.All) {
		f.keys = append(f.keys, "drift.family."+string(family))
	}
	f.ask(route{path: driftPath + "/lower", minRole: operator, stepUp: always}, lowerForm, p.lowerMargin)
	return f
}

type driftView struct {
	layout
	On       bool
	Step     string // years
	State    drift.State
	Raised   string // years, or empty
	Families []driftFamily
	Seen     []driftSeen
}

// driftFamily is how a family of browsers stands.
type driftFamily struct {
	Family          drift.Family
	Ages, Outcomes  drift.Measure
	Index, OutIndex string
}

// driftSeen is what was counted of a family in the last day.
type driftSeen struct {
	Family                                        drift.Family
	Checks, Estimates, Unusable, NotLive, Leaving string
	checks                                        int64
}

// driftSeenTime is the time that the page sums up.
const driftSeenTime = 24 * time.Hour

func (p *Pages) showDrift(r *request) error {
	v := &driftView{On: p.cfg.Drift != nil}
	if !v.On {
		return r.render(http.StatusOK, "drift", v)
	}
	if err := p.cfg.Drift.Refresh(r.ctx()); err != nil {
		return err
	}
	v.State, v.Step = p.cfg.Drift.Known(), yearsText(p.cfg.Drift.Step())
	if v.State.Raised > 0 {
		v.Raised = yearsText(v.State.Raised)
	}
	for family, standing := range v.State.Families {
		v.Families = append(v.Families, driftFamily{
			family, standing.Ages, standing.Outcomes, drift.Index(standing.Ages.Index), drift.Index(standing.Outcomes.Index),
		})
	}
	slices.SortFunc(v.Families, func(a, b driftFamily) int { return strings.Compare(string(a.Family), string(b.Family)) })
	hours, err := p.cfg.Drift.Hours(r.ctx(), driftSeenTime)
	if err != nil {
		return err
	}
	sums := map[drift.Family]drift.Counts{}
	for _, h := range hours {
		sums[h.Family] = sums[h.Family].Add(h.Counts)
	}
	for family, c := range sums {
		v.Seen = append(v.Seen, driftSeen{
			family, figure(c.Checks()), figure(c.Estimates()), figure(c.Outcomes[drift.Unusable]),
			figure(c.Outcomes[drift.NotLive]),
			figure(c.Outcomes[drift.Left]), c.Checks(),
		})
	}
	slices.SortFunc(v.Seen, func(a, b driftSeen) int {
		return cmp.Or(cmp.Compare(b.checks, a.checks), strings.Compare(string(a.Family), string(b.Family)))
	})
	return r.render(http.StatusOK, "drift", v)
}

func yearsText(years float64) string { return strconv.FormatFloat(years, 'f', -1, 64) }

// lowerMargin ends a raise of the margin.
func (p *Pages) lowerMargin(r *request) (*question, error) {
	if p.cfg.Drift == nil {
		return nil, elsewhere(driftPath)
	}
	if err := p.cfg.Drift.Refresh(r.ctx()); err != nil {
		return nil, err
	}
	state, margin := p.cfg.Drift.Known(), p.cfg.Drift.Margin()
	if state.Raised == 0 {
		return nil, elsewhere(driftPath)
	}
	return &question{
		Values: []any{"from", yearsText(margin + state.Raised), "to", yearsText(margin)},
		Facts:  []page.Text{page.Say("drift_lower.again")},
		Back:   driftPath,
		do: func(*formView) error {
			if err := p.cfg.Drift.Lower(r.ctx(), r.who.OperatorActor()); err != nil {
				return err
			}
			return r.done(driftPath, "drift_lowered")
		},
	}, nil
}

// driftNotice returns by how many years the margin is raised, for the notice on
// the operator's pages; empty where it is not.
func (p *Pages) driftNotice() string {
	if p.cfg.Drift == nil || p.cfg.Drift.Raised() == 0 {
		return ""
	}
	return yearsText(p.cfg.Drift.Raised())
}
