package evidence

import (
	"context"
	"slices"
	"time"

	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/session"
)

// outcome is a column of outcomes.csv.
type outcome string

// The outcomes of live sessions.
const (
	passedCamera   outcome = "passed_camera"
	passedDocument outcome = "passed_document"
	fallback       outcome = "routed_to_fallback"
	spoof          outcome = "spoof_detected"
	unfinished     outcome = "not_finished"
)

var outcomes = []outcome{passedCamera, passedDocument, fallback, spoof, unfinished}

// outcomeOf returns the column in which a session counts, or false if it is still open.
func outcomeOf(o insight.Outcome) (outcome, bool) {
	switch {
	case o.Status == session.StatusPassed && o.Source == session.SourceDocument:
		return passedDocument, true
	case o.Status == session.StatusPassed:
		return passedCamera, true
	case o.Status == session.StatusFallback:
		return fallback, true
	case o.Status == session.StatusSpoof:
		return spoof, true
	case o.Status == session.StatusExpired:
		return unfinished, true
	}
	return "", false
}

// tally counts the live sessions of a period.
type tally struct {
	days   map[time.Time]map[outcome]int64
	totals map[outcome]int64 // of the counts that the file contains, over days and months
}

func (s *Service) tally(ctx context.Context, r Request) (tally, error) {
	list, err := s.counter.Outcomes(ctx, insight.Scope{TenantID: r.TenantID, Livemode: true}, r.From, r.To)
	t := tally{days: map[time.Time]map[outcome]int64{}, totals: map[outcome]int64{}}
	for _, o := range list {
		name, ok := outcomeOf(o)
		if !ok {
			continue
		}
		if t.days[o.Start] == nil {
			t.days[o.Start] = map[outcome]int64{}
		}
		t.days[o.Start][name] += o.N
	}
	return t, err
}

// file returns outcomes.csv. It leaves out counts below MinCount, and sums from which they could be computed: there
// are no totals per day, and the small counts of a calendar month are added up in a row of their own. That row is the
// same in every pack, whatever its period.
func (t *tally) file(from, to time.Time) file {
	columns := []string{"day"}
	for _, name := range outcomes {
		columns = append(columns, string(name))
	}
	out := Table{columns}
	rest := map[outcome]int64{}
	for day := from; day.Before(to); day = day.AddDate(0, 0, 1) {
		if day.Day() == 1 {
			clear(rest)
		}
		cells := []string{day.Format(time.DateOnly)}
		for _, name := range outcomes {
			n := t.days[day][name]
			if n < MinCount {
				rest[name] += n
			}
			cells = append(cells, t.state(name, n))
		}
		out.Add(cells...)
		month := time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC)
		if day.AddDate(0, 0, 1).Day() != 1 || month.Before(from) {
			continue
		}
		cells = []string{"rest of " + day.Format("2006-01")}
		for _, name := range outcomes {
			cells = append(cells, t.state(name, rest[name]))
		}
		out.Add(cells...)
	}
	return file{"outcomes.csv", out.CSV()}
}

// state returns a count in the form in which the file states it. A count that is stated is added to the totals.
func (t *tally) state(name outcome, n int64) string {
	if n >= MinCount {
		t.totals[name] += n
	}
	return Count(n)
}

// stated returns the totals in the file, for the statements, in the order of outcomes.
func (t *tally) stated() []statedOutcome {
	var list []statedOutcome
	for _, name := range outcomes {
		list = append(list, statedOutcome{string(name), Count(t.totals[name])})
	}
	return slices.Clip(list)
}

type statedOutcome struct{ Name, N string }
