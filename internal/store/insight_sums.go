package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/session"
)

// summed describes a sum: its table, and the length of its unit in seconds.
type summed struct {
	table   string
	seconds int64
}

var sums = map[insight.Sum]summed{
	insight.SumSessions: {"sessions", 3600},
	insight.SumLedger:   {"ledger_entries", 86400},
}

// start returns the time at which the unit with a number starts.
func (s summed) start(n int64) time.Time { return at(time.Unix(n*s.seconds, 0)) }

// markOf selects the mark of a tenant's sum.
func markOf(sum insight.Sum, tenantID uuid.UUID) string { return string(sum) + "/" + tenantID.String() }

// FoldedUpto implements insight.FoldStore.
func (s *Store) FoldedUpto(ctx context.Context, sum insight.Sum, tenantID uuid.UUID) (int64, error) {
	return view(ctx, s, func(tx *Tx) (upto int64, err error) {
		err = tx.db.Raw("SELECT upto FROM fold_marks WHERE name = ?", markOf(sum, tenantID)).Scan(&upto).Error
		return upto, err
	})
}

// Unfolded implements insight.FoldStore. For each tenant it reads the mark and the first row after it from indexes.
func (s *Store) Unfolded(ctx context.Context, sum insight.Sum, before int64) ([]uuid.UUID, error) {
	of := sums[sum]
	return view(ctx, s, func(tx *Tx) (tenants []uuid.UUID, err error) {
		err = tx.db.Raw(`
			SELECT t.id FROM tenants t LEFT JOIN fold_marks m ON m.name = ? || CAST(t.id AS text)
			WHERE EXISTS (
				SELECT 1 FROM `+of.table+` r WHERE r.tenant_id = t.id AND r.created_at < ?
				AND r.created_at >= coalesce(`+tx.startOf("m.upto", of.seconds)+`, ?)
			)`, string(sum)+"/", of.start(before), time.Unix(0, 0).UTC()).Scan(&tenants).Error
		return tenants, err
	})
}

// startOf returns the SQL expression of summed.start.
func (tx *Tx) startOf(column string, seconds int64) string {
	if tx.postgres {
		return fmt.Sprintf("to_timestamp(%s * %d)", column, seconds)
	}
	// The format is that in which the driver writes a time in whole seconds.
	return fmt.Sprintf("strftime('%%Y-%%m-%%d %%H:%%M:%%S+00:00', %s * %d, 'unixepoch')", column, seconds)
}

// FirstUnfolded implements insight.FoldStore.
func (s *Store) FirstUnfolded(
	ctx context.Context, sum insight.Sum, tenantID uuid.UUID, from, before int64,
) (int64, bool, error) {
	of := sums[sum]
	var oldest []time.Time
	err := s.View(ctx, func(tx *Tx) error {
		return tx.db.Table(of.table).
			Where("tenant_id = ? AND created_at >= ? AND created_at < ?", tenantID, of.start(from), of.start(before)).
			Order("created_at").Limit(1).Pluck("created_at", &oldest).Error
	})
	if err != nil || len(oldest) == 0 {
		return 0, false, err
	}
	return oldest[0].Unix() / of.seconds, true, nil
}

// groupRow counts sessions that have equal properties and the same bucket of the time
// to the decision. Sessions without a decision have the bucket len(insight.Buckets)+1.
type groupRow struct {
	Hour      int64
	Livemode  bool
	TargetAge int
	Status    session.Status
	Source    session.Source
	Bucket    int
	N         int64
	Opened    int64
	Begun     int64
}

// unitOf returns two SQL expressions. The first has equal values for rows of the same
// hour or day. The second computes the number of the hour or day from the first.
func (tx *Tx) unitOf(sum insight.Sum) (common, number string) {
	unit, end, rest := "hour", len("2006-01-02 15"), ":00"
	if sum == insight.SumLedger {
		unit, end, rest = "day", len("2006-01-02"), ""
	}
	common, number = fmt.Sprintf("date_trunc('%s', created_at)", unit), "extract(epoch FROM common)"
	if !tx.postgres {
		common, number = fmt.Sprintf("substr(created_at, 1, %d)", end), fmt.Sprintf("strftime('%%s', common || '%s')", rest)
	}
	return common, fmt.Sprintf("CAST(%s AS bigint) / %d", number, sums[sum].seconds)
}

// bucketOf returns the SQL expression for the bucket of the time from opening to decision: how many of
// insight.Buckets the time has reached, or one more than there are if nothing is decided.
func (tx *Tx) bucketOf() string {
	var limits []string
	for _, limit := range insight.Buckets {
		limits = append(limits, strconv.FormatInt(limit.Milliseconds(), 10))
	}
	// A subquery is the only way in SQLite to compute the time once.
	reached := "(SELECT (took >= " + strings.Join(limits, ") + (took >= ") + `) FROM (SELECT
		CAST(round((julianday(completed_at) - julianday(coalesce(opened_at, created_at))) * 86400000) AS INTEGER) AS took))`
	if tx.postgres {
		reached = "width_bucket(completed_at - coalesce(opened_at, created_at), ARRAY[interval '" +
			strings.Join(limits, " milliseconds', interval '") + " milliseconds'])"
	}
	return fmt.Sprintf("CASE WHEN completed_at IS NULL THEN %d ELSE %s END", len(insight.Buckets)+1, reached)
}

// CountSessions implements insight.FoldStore. The query does not name the mode, so
// that the database can only use the index by time.
func (s *Store) CountSessions(
	ctx context.Context, tenantID uuid.UUID, from, to, now time.Time,
) ([]insight.Group, error) {
	rows, err := view(ctx, s, func(tx *Tx) (rows []groupRow, err error) {
		common, number := tx.unitOf(insight.SumSessions)
		err = tx.db.Raw(`
			SELECT `+number+` AS hour, livemode, target_age, status, source, bucket, n, opened, begun FROM (
				SELECT `+common+` AS common, livemode, target_age,
					CASE WHEN status = 'PENDING' AND expires_at <= ? THEN 'EXPIRED' ELSE status END AS status, source,
					`+tx.bucketOf()+` AS bucket, count(*) AS n, count(opened_at) AS opened, count(begun_at) AS begun
				FROM sessions WHERE tenant_id = ? AND created_at >= ? AND created_at < ? AND source <> 'receiver'
				GROUP BY 1, 2, 3, 4, 5, 6
			) AS counted`, now, tenantID.String(), from, to).Scan(&rows).Error
		return rows, err
	})
	return toGroups(rows), err
}

// toGroups joins rows that differ only in their bucket.
func toGroups(rows []groupRow) []insight.Group {
	var groups []insight.Group
	index := map[insight.Group]int{}
	for _, r := range rows {
		key := insight.Group{
			Hour: r.Hour, Livemode: r.Livemode, TargetAge: r.TargetAge, Status: r.Status, Source: r.Source,
		}
		i, ok := index[key]
		if !ok {
			i = len(groups)
			index[key] = i
			groups = append(groups, key)
		}
		g := &groups[i]
		g.N += r.N
		g.Opened += r.Opened
		g.Begun += r.Begun
		if r.Bucket < len(g.Decided) {
			g.Decided[r.Bucket] += r.N
		}
	}
	return groups
}

// sumRow is a row of session_hours.
type sumRow struct {
	TenantID  uuid.UUID      `gorm:"primaryKey"`
	Livemode  bool           `gorm:"primaryKey"`
	Hour      int64          `gorm:"primaryKey;autoIncrement:false"`
	TargetAge int            `gorm:"primaryKey;autoIncrement:false"`
	Status    session.Status `gorm:"primaryKey"`
	Source    session.Source `gorm:"primaryKey"`
	N         int64
	Opened    int64
	Begun     int64
	T5        int64 `gorm:"column:t5"`
	T10       int64 `gorm:"column:t10"`
	T20       int64 `gorm:"column:t20"`
	T40       int64 `gorm:"column:t40"`
	T80       int64 `gorm:"column:t80"`
	Tmore     int64
}

func (sumRow) TableName() string { return "session_hours" }

func fromGroup(tenantID uuid.UUID, g insight.Group) sumRow {
	d := g.Decided
	return sumRow{
		TenantID: tenantID, Livemode: g.Livemode, Hour: g.Hour, TargetAge: g.TargetAge,
		Status: g.Status, Source: g.Source, N: g.N, Opened: g.Opened, Begun: g.Begun,
		T5: d[0], T10: d[1], T20: d[2], T40: d[3], T80: d[4], Tmore: d[5],
	}
}

func toGroup(r sumRow) insight.Group {
	return insight.Group{
		Hour: r.Hour, Livemode: r.Livemode, TargetAge: r.TargetAge,
		Status: r.Status, Source: r.Source,
		Tally: insight.Tally{
			N: r.N, Opened: r.Opened, Begun: r.Begun,
			Decided: [len(insight.Buckets) + 1]int64{r.T5, r.T10, r.T20, r.T40, r.T80, r.Tmore},
		},
	}
}

// ledgerDayRow is a row of ledger_days.
type ledgerDayRow struct {
	TenantID uuid.UUID
	insight.LedgerDay
}

func (ledgerDayRow) TableName() string { return "ledger_days" }

// FoldSessions implements insight.FoldStore.
func (s *Store) FoldSessions(
	ctx context.Context, tenantID uuid.UUID, upto, hour int64, groups []insight.Group,
) (bool, error) {
	rows := mapAll(groups, func(g insight.Group) sumRow { return fromGroup(tenantID, g) })
	return s.rollUp(ctx, markOf(insight.SumSessions, tenantID), upto, hour, &rows, len(rows))
}

// FoldLedger implements insight.FoldStore.
func (s *Store) FoldLedger(
	ctx context.Context, tenantID uuid.UUID, upto, day int64, days []insight.LedgerDay,
) (bool, error) {
	rows := mapAll(days, func(d insight.LedgerDay) ledgerDayRow { return ledgerDayRow{tenantID, d} })
	return s.rollUp(ctx, markOf(insight.SumLedger, tenantID), upto, day, &rows, len(rows))
}

// rollUp moves a mark from upto to the unit after n and stores the rows. The update
// locks the mark's row, so that only one of several replicas succeeds.
func (s *Store) rollUp(ctx context.Context, mark string, upto, n int64, rows any, count int) (bool, error) {
	return update(ctx, s, func(tx *Tx) (bool, error) {
		moved, err := changed(tx.db.Exec(`
			INSERT INTO fold_marks (name, upto) VALUES (?, ?)
			ON CONFLICT (name) DO UPDATE SET upto = excluded.upto WHERE fold_marks.upto = ?`, mark, n+1, upto))
		if err != nil || !moved || count == 0 {
			return moved, err
		}
		return true, tx.db.Create(rows).Error
	})
}

// SumHours implements insight.Store.
func (s *Store) SumHours(ctx context.Context, scope insight.Scope, from, before, step int64) ([]insight.Group, error) {
	added := strings.Join(mapAll([]string{"n", "opened", "begun", "t5", "t10", "t20", "t40", "t80", "tmore"},
		func(column string) string { return "CAST(sum(" + column + ") AS bigint) AS " + column }), ", ")
	return view(ctx, s, func(tx *Tx) ([]insight.Group, error) {
		var rows []sumRow
		err := tx.db.Raw(fmt.Sprintf(`SELECT hour / %d * %d AS hour, livemode, status, source, %s FROM session_hours
			WHERE tenant_id = ? AND livemode = ? AND hour >= ? AND hour < ? GROUP BY 1, 2, 3, 4`, step, step, added),
			scope.TenantID.String(), scope.Livemode, from, before).Scan(&rows).Error
		return mapAll(rows, toGroup), err
	})
}

// CountEntries implements insight.FoldStore.
func (s *Store) CountEntries(ctx context.Context, tenantID uuid.UUID, from, to time.Time) ([]insight.LedgerDay, error) {
	return view(ctx, s, func(tx *Tx) (days []insight.LedgerDay, err error) {
		common, number := tx.unitOf(insight.SumLedger)
		err = tx.db.Raw(`SELECT `+number+` AS day, kind, source, n, delta FROM (
				SELECT `+common+` AS common, kind, source, count(*) AS n, CAST(sum(delta) AS bigint) AS delta
				FROM ledger_entries WHERE tenant_id = ? AND created_at >= ? AND created_at < ? GROUP BY 1, 2, 3
			) AS counted`, tenantID.String(), from, to).Scan(&days).Error
		return days, err
	})
}

// SumDays implements insight.FoldStore.
func (s *Store) SumDays(ctx context.Context, tenantID uuid.UUID, from, before int64) ([]insight.LedgerDay, error) {
	return viewAll[insight.LedgerDay](ctx, s, func(tx *Tx) *gorm.DB {
		return tx.db.Table("ledger_days").Where("tenant_id = ? AND day >= ? AND day < ?", tenantID,
			from, before)
	})
}

// CountByKey implements insight.Store.
func (s *Store) CountByKey(ctx context.Context, tenantID uuid.UUID, since time.Time) (map[uuid.UUID]int64, error) {
	var rows []struct {
		APIKeyID *uuid.UUID
		N        int64
	}
	err := s.View(ctx, func(tx *Tx) error {
		return tx.db.Raw("SELECT api_key_id, count(*) AS n FROM sessions WHERE tenant_id = ? AND created_at >= ? GROUP BY 1",
			tenantID.String(), since).Scan(&rows).Error
	})
	counts := map[uuid.UUID]int64{}
	for _, r := range rows {
		if r.APIKeyID != nil {
			counts[*r.APIKeyID] = r.N
		}
	}
	return counts, err
}
