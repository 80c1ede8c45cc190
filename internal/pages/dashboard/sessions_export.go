package dashboard

import (
	"context"
	"encoding/csv"
	"io"
	"strconv"
	"time"

	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"

	"github.com/labstack/echo/v4"
)

// exportColumns are the columns of the file of sessions. Only the order contains
// text from outside; it begins with a letter or a digit, so no cell can be a formula.
var exportColumns = []string{
	"session_id", "status", "target_age", "decided_by", "created_at", "opened_at", "begun_at", "completed_at", "attempts",
	"strikes", "document_way", "order",
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
		row.ID.String(), string(row.Status), strconv.Itoa(row.TargetAge), decidedBy(row.Source, row.Status, row.Way),
		at(&row.CreatedAt), at(row.OpenedAt), at(row.BegunAt), at(row.CompletedAt), strconv.Itoa(row.Attempts),
		strconv.Itoa(row.Strikes), string(row.Way), row.OrderRef,
	}
}
