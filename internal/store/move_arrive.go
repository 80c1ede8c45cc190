package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorm.io/gorm"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/move"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"
)

// Check implements move.Store.
func (s *Store) Check(ctx context.Context, head move.Header, records []move.Record) error {
	return s.View(ctx, func(tx *Tx) error {
		arrived, err := tx.arrival(tx.db, head)
		if err != nil {
			return err
		}
		for _, rows := range byTable(records) {
			if err := tx.checkRows(head, rows, arrived); err != nil {
				return err
			}
		}
		return nil
	})
}

// arrival reports whether the tenant of a file is there and arriving by the same move. It
// returns move.ErrMoved, or fault.Conflict for a tenant that did not come by this
// move.
func (tx *Tx) arrival(query *gorm.DB, head move.Header) (bool, error) {
	row, err := takeTenant(query, "id = ?", head.Tenant.String())
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return false, nil
	case err != nil:
		return false, err
	case row.Move.ID != head.Move.String() || row.Move.State == tenant.MoveLeaving:
		return false, fault.New(fault.Conflict, "a tenant with this ID exists already")
	case row.Move.State == tenant.MoveNone:
		return false, move.ErrMoved
	}
	return true, nil
}

// byTable splits records into runs of one table with the same columns.
func byTable(records []move.Record) (runs [][]move.Record) {
	same := func(a, b move.Record) bool {
		return a.Table == b.Table && slices.Equal(columnsOf(a), columnsOf(b))
	}
	for i, r := range records {
		if i == 0 || !same(records[i-1], r) {
			runs = append(runs, nil)
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], r)
	}
	return runs
}

func columnsOf(r move.Record) []string { return slices.Sorted(maps.Keys(r.Row)) }

// checkRows checks rows of one table.
func (tx *Tx) checkRows(head move.Header, rows []move.Record, arrived bool) error {
	table := rows[0].Table
	if table == move.Members {
		return nil
	}
	p, known := partOf(table)
	if !known {
		return move.ErrNewer
	}
	if err := tx.checkColumns(rows[0]); err != nil {
		return err
	}
	if !ownRows(head, rows) {
		return move.ErrDamaged
	}
	for _, column := range p.unique {
		values := make([]any, len(rows))
		for i, r := range rows {
			values[i] = r.Row[column]
		}
		var n int64
		if err := tx.db.Table(table).Where(column+" IN ? AND (tenant_id <> ? OR tenant_id IS NULL)", values,
			head.Tenant).Count(&n).Error; err != nil {
			return err
		}
		if n > 0 {
			return fault.New(fault.Conflict, "a row of "+table+" is there already and belongs to something else")
		}
	}
	if table == "audit_heads" && !arrived {
		return tx.checkNoLog(head)
	}
	return nil
}

// ownRows reports whether rows that name a tenant name the file's.
func ownRows(head move.Header, rows []move.Record) bool {
	return !slices.ContainsFunc(rows, func(r move.Record) bool {
		owner, owned := r.Row["tenant_id"]
		scope, scoped := r.Row["scope"]
		return owned && owner != head.Tenant.String() || scoped && scope != string(audit.OfTenant(head.Tenant))
	})
}

// checkNoLog fails if there is a log of the tenant, which was here and was
// deleted.
func (tx *Tx) checkNoLog(head move.Header) error {
	var n int64
	err := tx.db.Model(&auditHeadRow{}).Where("scope = ?", audit.OfTenant(head.Tenant)).Count(&n).Error
	if err == nil && n > 0 {
		err = fault.New(fault.Conflict, "the audit log of a deleted tenant with this ID is kept here: it cannot come back to this database")
	}
	return err
}

// checkColumns fails if the table lacks a column of the record.
func (tx *Tx) checkColumns(r move.Record) error {
	rows, err := tx.db.Table(r.Table).Limit(0).Rows()
	if err != nil {
		return translate(err)
	}
	defer rows.Close() //nolint:errcheck // nothing is read
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	for column := range r.Row {
		if !slices.Contains(names, column) || r.Table == "tenants" && slices.Contains(moveColumns, column) {
			return move.ErrNewer
		}
	}
	return rows.Err()
}

// Arrive implements move.Store.
func (s *Store) Arrive(ctx context.Context, head move.Header, records []move.Record) error {
	return s.Update(ctx, func(tx *Tx) error {
		there, err := tx.arrival(tx.forUpdate(), head)
		if err != nil {
			return err
		}
		if !there && records[0].Table != "tenants" {
			return fault.New(fault.Conflict, "the tenant was deleted while it arrived")
		}
		for _, rows := range byTable(records) {
			if rows[0].Table == "tenants" {
				if there {
					continue
				}
				row := maps.Clone(rows[0].Row)
				row["move_state"], row["move_id"] = string(tenant.MoveArriving), head.Move.String()
				rows = []move.Record{{Table: "tenants", Row: row}}
			}
			if err := tx.insertRecords(rows); err != nil {
				return err
			}
		}
		return nil
	})
}

// Settle implements move.Store.
func (s *Store) Settle(
	ctx context.Context, head move.Header, balances []move.Record, invitations []account.Link, act audit.Act,
) error {
	return s.act(ctx, act, func(tx *Tx) error {
		there, err := tx.arrival(tx.forUpdate(), head)
		if err != nil {
			return err
		}
		if !there {
			return fault.New(fault.Conflict, "the tenant was deleted while it arrived")
		}
		if err := tx.setMove(head.Tenant, tenant.Move{ID: head.Move.String()}); err != nil {
			return err
		}
		for _, rows := range byTable(balances) {
			if err := tx.insertRecords(rows); err != nil {
				return err
			}
		}
		for _, l := range invitations {
			row := linkRow(l)
			if err := tx.db.Create(&row).Error; err != nil {
				return err
			}
		}
		return nil
	})
}

// insertRecords inserts rows of one table that are not there yet.
func (tx *Tx) insertRecords(rows []move.Record) error {
	table, columns := rows[0].Table, columnsOf(rows[0])
	list := strings.Join(columns, ", ")
	ctx, pool := tx.db.Statement.Context, tx.db.Statement.ConnPool // GORM would read the values for their types
	if tx.postgres {
		var objects []byte
		for _, r := range rows {
			var err error
			if objects, err = appendObject(objects, columns, valuesOf(r, columns)); err != nil {
				return err
			}
		}
		_, err := pool.ExecContext(ctx, fmt.Sprintf(`INSERT INTO %s (%s)
			SELECT %s FROM json_populate_recordset(CAST(NULL AS %s), CAST($1 AS json)) ON CONFLICT DO NOTHING`,
			table, list, list, table), array(objects))
		return translate(err)
	}
	var args []any
	for _, r := range rows {
		args = append(args, valuesOf(r, columns)...)
	}
	_, err := pool.ExecContext(ctx, insertion(table, columns, len(rows))+" ON CONFLICT DO NOTHING", args...)
	return translate(err)
}

func valuesOf(r move.Record, columns []string) []any {
	values := make([]any, len(columns))
	for i, column := range columns {
		values[i] = r.Row[column]
	}
	return values
}
