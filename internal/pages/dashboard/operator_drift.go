package dashboard

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"agegate/internal/backoffice/drift"
	"agegate/internal/pages/dashboard/desk"
)

const driftPath = operatorPath + "/drift"

func (p *Pages) drift() desk.Feature {
	f := desk.Feature{
		Routes:  []desk.Route{{Method: http.MethodGet, Path: driftPath, MinRole: desk.Operator, Handle: p.showDrift}},
		Screens: []string{"drift"},
	}
	for _, family := range append(drift.Families(), drift.All) {
		f.Keys = append(f.Keys, "drift.family."+string(family))
	}
	return f
}

type driftView struct {
	desk.Layout
	State    drift.State
	Families []driftFamily
	Seen     []driftSeen
}

// driftFamily is how a family of browsers stands.
type driftFamily struct {
	Family          drift.Family
	Ages, Outcomes  drift.Measure
	Index, OutIndex string
}

// driftSeen holds the counts of a family's camera checks in the last driftSeenTime.
type driftSeen struct {
	Family                                        drift.Family
	Checks, Estimates, Unusable, NotLive, Leaving string
	checks                                        int64
}

// driftSeenTime is how far back the page adds up the counts of camera checks.
const driftSeenTime = 24 * time.Hour

func (p *Pages) showDrift(r *desk.Request) error {
	if err := p.cfg.Drift.Refresh(r.Ctx()); err != nil {
		return err
	}
	v := &driftView{State: p.cfg.Drift.Known()}
	for family, standing := range v.State.Families {
		v.Families = append(v.Families, driftFamily{
			family, standing.Ages, standing.Outcomes, drift.Index(standing.Ages.Index), drift.Index(standing.Outcomes.Index),
		})
	}
	slices.SortFunc(v.Families, func(a, b driftFamily) int { return strings.Compare(string(a.Family), string(b.Family)) })
	hours, err := p.cfg.Drift.Hours(r.Ctx(), driftSeenTime)
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
	return r.Show(http.StatusOK, "drift", v)
}

// driftNotice returns the family of browsers whose estimates are far from their
// reference, for a notice on the operator's pages; empty if there is none.
func (p *Pages) driftNotice() string {
	state := p.cfg.Drift.Known()
	return string(state.FarFamily())
}
