package dashboard

import (
	"net/http"
	"regexp"
	"strconv"
	"time"

	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"
)

const systemPath = operatorPath + "/system"

func (p *Pages) system() desk.Feature {
	return desk.Feature{
		Routes:  []desk.Route{{Method: http.MethodGet, Path: systemPath, MinRole: desk.Operator, Handle: p.showSystem}},
		Screens: []string{"system"},
		Keys:    healthKeys(),
	}
}

type systemView struct {
	desk.Layout
	insight.System
	Rows    []replicaView
	Drift   bool           // the replicas differ
	Waiting string         // how long the oldest due delivery has waited; may be empty
	Size    string         // of the database
	Days    int            // after which finished sessions are deleted; 0 for never
	Health  *conditionView // nil if it could not be read
	Unread  bool           // whether the health could not be read
}

// replicaView is a replica with its marks.
type replicaView struct {
	insight.Replica
	Late  bool // it missed a report, so it was probably killed
	Marks []markView
}

// markView is a version or fingerprint; Odd marks one that most replicas do not have.
type markView struct {
	Name, Value string
	Odd         bool
}

// markParts are the parts of a value between which a line may break: a release, a time and a commit.
var markParts = regexp.MustCompile(`^[^+]*\+?|[^.]+\.?`)

// Parts are the parts of the value.
func (m markView) Parts() []string { return markParts.FindAllString(m.Value, -1) }

func (p *Pages) showSystem(r *desk.Request) error {
	state, err := p.cfg.Insight.System(r.Ctx())
	if err != nil {
		return err
	}
	v := &systemView{System: state, Size: bytesText(state.Database.Bytes), Days: int(p.cfg.Retention.Hours() / 24)}
	v.Rows, v.Drift = replicaViews(state.Replicas, state.AsOf)
	if state.Queue.OldestDue > 0 {
		v.Waiting = state.Queue.OldestDue.Truncate(time.Second).String()
	}
	v.Health, err = p.readHealth(r, p.failed(state.Queue.Endpoints))
	if v.Unread, err = r.Unread("health", err); err != nil {
		return err
	}
	return r.Show(http.StatusOK, "system", v)
}

// fingerprintShown is how many characters of a fingerprint are shown.
const fingerprintShown = 12

// replicaViews marks values that differ from those of most replicas; if equally many replicas have two values,
// from the newest replica's. A replica without models either has another configuration or serves the API alone,
// so its models and calibration are not compared. Nothing is of one that is late.
func replicaViews(replicas []insight.Replica, now time.Time) (views []replicaView, drift bool) {
	late := func(r insight.Replica) bool { return now.Sub(r.SeenAt) > insight.GoneAfter/2 }
	usual := map[string]string{}
	counts := map[[2]string]int{}
	marksOf := func(r insight.Replica) []markView {
		return []markView{{"version", r.Version, false}, {"models", r.Models, false}, {"calibration", r.Calibration, false},
			{"config", r.Config, false}}
	}
	compared := func(r insight.Replica, m markView) bool {
		return !late(r) && (r.Models != "" || m.Name == "version" || m.Name == "config")
	}
	for _, r := range replicas {
		for _, m := range marksOf(r) {
			if !compared(r, m) {
				continue
			}
			key := [2]string{m.Name, m.Value}
			counts[key]++
			if best, ok := usual[m.Name]; !ok || counts[key] >= counts[[2]string{m.Name, best}] {
				usual[m.Name] = m.Value
			}
		}
	}
	for _, r := range replicas {
		view := replicaView{r, late(r), marksOf(r)}
		for i := range view.Marks {
			m := &view.Marks[i]
			m.Odd = compared(r, *m) && m.Value != usual[m.Name]
			drift = drift || m.Odd
			if m.Name != "version" && len(m.Value) > fingerprintShown {
				m.Value = m.Value[:fingerprintShown]
			}
		}
		views = append(views, view)
	}
	return views, drift
}

// bytesText formats a size in binary units, in one word and without fractions.
func bytesText(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	size, unit := float64(n), 0
	for size >= 10*1024 && unit < len(units)-1 {
		size, unit = size/1024, unit+1
	}
	return strconv.FormatFloat(size, 'f', 0, 64) + "\u00a0" + units[unit]
}
