package dashboard

import (
	"context"
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"time"

	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/rules/session"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

// splitDays is how many days the numbers above a list cover if no day is chosen.
const splitDays = 30

// splitView counts the sessions of some days by target age and by who decided.
type splitView struct {
	From, To time.Time // the last day is included
	Matching string    // how many sessions the filter selects
	ByAge    splitTable
	BySource splitTable
}

// splitTable is one way to split the counts.
type splitTable struct {
	Of     string   // key of the name of the first column
	Labels []string // keys of the names of the others
	Rows   []splitRow
}

// splitRow is one row of counts.
type splitRow struct {
	Age    int      // 0 if the row is not about an age
	Name   string   // key of the name, if the row is not about an age
	Counts []string // all, and by status

	counts map[session.Status]int64
}

// splitSessions fills in the numbers above a list, unless the list is filtered by
// a property by which they are not split.
func (p *Pages) splitSessions(r *desk.Request, v *sessionsView, f insight.SessionFilter) error {
	if f.Prefix != "" || f.Order != "" || f.KeyID != uuid.Nil || v.Later {
		return nil
	}
	if f.To.IsZero() {
		today := p.cfg.Now().In(v.zone)
		f.To = time.Date(today.Year(), today.Month(), today.Day()+1, 0, 0, 0, 0, v.zone)
	}
	if f.From.IsZero() {
		f.From = f.To.AddDate(0, 0, -splitDays)
	}
	split, err := p.cfg.Insight.Split(r.Ctx(), r.Scope(), f.From, f.To)
	if v.Unread, err = r.Unread("split", err); err != nil || v.Unread {
		return err
	}
	v.Split = newSplit(split, f)
	v.Split.From, v.Split.To = v.Split.From.In(v.zone), v.Split.To.In(v.zone)
	return nil
}

// newSplit adds up the groups that a filter selects.
func newSplit(split insight.Split, f insight.SessionFilter) *splitView {
	v := &splitView{From: split.From, To: split.To.Add(-time.Second)}
	labels := []string{"sessions.count"}
	for _, status := range parts {
		labels = append(labels, statusView{status}.Text())
	}
	v.ByAge, v.BySource = splitTable{Of: "sessions.age", Labels: labels}, splitTable{Of: "sessions.source", Labels: labels}
	var matching int64
	for _, g := range split.Groups {
		if f.Status != "" && g.Status != f.Status || f.TargetAge != 0 && g.TargetAge != f.TargetAge {
			continue
		}
		matching += g.N
		v.ByAge.add(splitRow{Age: g.TargetAge}, g)
		name := decidedText(g.Source, g.Status, g.Way)
		if name == "" {
			name = "sessions.undecided"
		}
		v.BySource.add(splitRow{Name: name}, g)
	}
	for _, rows := range [][]splitRow{v.ByAge.Rows, v.BySource.Rows} {
		for i := range rows {
			rows[i].write()
		}
	}
	v.Matching = figure(matching)
	return v
}

// add counts a group in the row with the same age or name.
func (t *splitTable) add(of splitRow, g insight.SplitGroup) {
	i := slices.IndexFunc(t.Rows, func(row splitRow) bool { return row.Age == of.Age && row.Name == of.Name })
	if i < 0 {
		of.counts = map[session.Status]int64{}
		i, t.Rows = len(t.Rows), append(t.Rows, of)
	}
	t.Rows[i].counts[g.Status] += g.N
}

func (row *splitRow) write() {
	var all int64
	counts := make([]string, 1, 1+len(parts))
	for _, status := range parts {
		all += row.counts[status]
		counts = append(counts, figure(row.counts[status]))
	}
	counts[0] = figure(all)
	row.Counts = counts
}

// exportColumns are the columns of the file of sessions. Only the order contains
// text from outside; it begins with a letter or a digit, so no cell can be a formula.
var exportColumns = []string{
	"session_id", "status", "target_age", "decided_by", "created_at", "opened_at", "begun_at", "completed_at", "attempts",
	"strikes",
	"document_way", "order",
}

// exportMore is the first cell of the last line of a file that is incomplete.
const exportMore = "more sessions exist: choose fewer days"

// exportSessions writes the sessions that the filter selects, newest first.
func (p *Pages) exportSessions(r *desk.Request) error {
	v := askedSessions(r)
	filter := v.filter()
	if len(v.Wrong) > 0 {
		return echo.ErrNotFound
	}
	name := "sessions-" + r.Mode() + "-" + p.cfg.Now().Format(time.DateOnly) + ".csv"
	return r.Download("text/csv; charset=utf-8", name, func(ctx context.Context, w io.Writer) error {
		out := csv.NewWriter(w)
		if err := out.Write(exportColumns); err != nil {
			return err
		}
		more, err := p.cfg.Insight.Export(ctx, r.Scope(), filter, desk.ReadBatch, func(rows []insight.SessionRow) error {
			for _, row := range rows {
				if err := out.Write(exportLine(row)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if more {
			if err := out.Write(append([]string{exportMore}, make([]string, len(exportColumns)-1)...)); err != nil {
				return err
			}
		}
		out.Flush()
		return out.Error()
	})
}

func exportLine(row insight.SessionRow) []string {
	at := func(t *time.Time) string {
		if t == nil {
			return ""
		}
		return t.UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	return []string{
		row.ID.String(), string(row.Status), strconv.Itoa(row.TargetAge),
		decidedBy(row.Source, row.Status, row.Way),
		at(&row.CreatedAt), at(row.OpenedAt), at(row.BegunAt), at(row.CompletedAt), strconv.Itoa(row.Attempts),
		strconv.Itoa(row.Strikes),
		string(row.Way), row.OrderRef,
	}
}
