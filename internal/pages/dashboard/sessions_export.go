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
	"strikes", "document_way", "order", "shop_not_told",
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
	at := func(t *time.Time) string {
		if t == nil {
			return ""
		}
		return t.UTC().Format(exportTime)
	}
	name := "sessions-" + r.Mode() + "-" + p.cfg.Now().Format(time.DateOnly) + ".csv"
	return downloadTable(r, name, exportColumns, func(ctx context.Context, write func([][]string) error) error {
		more, err := p.cfg.Insight.Export(ctx, r.Scope(), filter, desk.ReadBatch, func(rows []insight.SessionRow) error {
			lines := make([][]string, len(rows))
			for i, row := range rows {
				lines[i] = []string{
					row.ID.String(), string(row.Status), strconv.Itoa(row.TargetAge), decidedBy(row.Source, row.Status, row.Way),
					at(&row.CreatedAt), at(row.OpenedAt), at(row.BegunAt), at(row.CompletedAt), strconv.Itoa(row.Attempts),
					strconv.Itoa(row.Strikes), string(row.Way), row.OrderRef, strconv.FormatBool(row.Untold),
				}
			}
			return write(lines)
		})
		if err != nil || !more {
			return err
		}
		return write([][]string{append([]string{exportMore}, make([]string, len(exportColumns)-1)...)})
	})
}

// exportTime is the form of times in files, which are in UTC.
const exportTime = "2006-01-02T15:04:05.000000Z"

// downloadTable answers with comma-separated values: the columns, and the lines that fill writes.
func downloadTable(
	r *desk.Request, name string, columns []string,
	fill func(ctx context.Context, write func(lines [][]string) error) error,
) error {
	return r.Download("text/csv; charset=utf-8", name, func(ctx context.Context, w io.Writer) error {
		out := csv.NewWriter(w)
		if err := out.WriteAll([][]string{columns}); err != nil {
			return err
		}
		return fill(ctx, out.WriteAll)
	})
}
