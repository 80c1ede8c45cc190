package store

import (
	"context"
	"database/sql"
	"strings"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"agegate/internal/backoffice/insight"
	"agegate/internal/backoffice/move"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"
)

var _ move.Store = (*Store)(nil)

// whileMoving are the actions that a tenant's log records although the tenant
// moves: those of the move, and of deleting what is left.
var whileMoving = map[audit.Action]bool{
	audit.TenantExport: true, audit.TenantStay: true, audit.TenantForward: true, audit.TenantDisable: true,
	audit.TenantEnable: true,
	audit.TenantEnter:  true, audit.TenantLeave: true, audit.SessionDelete: true, audit.SessionPrune: true,
}

// checkStays refuses an act about a tenant that moves. It locks the tenant as a
// foreign key does, so that a tenant does not leave before the act is written.
func (tx *Tx) checkStays(act audit.Act) error {
	id, err := uuid.Parse(string(act.Scope))
	if err != nil || whileMoving[act.Action] {
		return nil //nolint:nilerr // the instance does not move
	}
	lock := ""
	if tx.postgres {
		lock = " FOR KEY SHARE"
	}
	var states []tenant.MoveState
	err = tx.db.Raw("SELECT move_state FROM tenants WHERE id = ?"+lock, id).Scan(&states).Error
	if err == nil && len(states) > 0 && states[0] != tenant.MoveNone {
		return tenant.ErrMoving
	}
	return err
}

// Leave implements move.Store. The lock waits for transactions that have passed the
// triggers; those that come later see the new state.
func (s *Store) Leave(ctx context.Context, tenantID, next uuid.UUID, act audit.Act) (id uuid.UUID, err error) {
	err = s.Update(ctx, func(tx *Tx) error {
		row, err := tx.lockTenant(tenantID)
		switch {
		case err != nil:
			return err
		case row.Move.State == tenant.MoveLeaving:
			id, err = uuid.Parse(row.Move.ID)
			return err
		case row.Move.State != tenant.MoveNone:
			return tenant.ErrMoving
		}
		id = next
		if err := tx.setMove(tenantID, tenant.Move{State: tenant.MoveLeaving, ID: id.String()}); err != nil {
			return err
		}
		return tx.AppendAudit(act)
	})
	return id, err
}

func (tx *Tx) setMove(tenantID uuid.UUID, m tenant.Move) error {
	return mustChange(tx.db.Model(&tenantRow{}).Where("id = ?", tenantID).
		Updates(map[string]any{"move_state": m.State, "move_id": m.ID, "move_to": m.To}))
}

// lockLeaving locks a tenant that is leaving.
func (tx *Tx) lockLeaving(tenantID uuid.UUID) (tenant.Tenant, error) {
	row, err := tx.lockTenant(tenantID)
	if err == nil && row.Move.State != tenant.MoveLeaving {
		err = fault.New(fault.Conflict, "the tenant is not leaving: it was not exported")
	}
	return row, err
}

// Stay implements move.Store.
func (s *Store) Stay(ctx context.Context, tenantID uuid.UUID, act audit.Act) error {
	return s.act(ctx, act, func(tx *Tx) error {
		if _, err := tx.lockLeaving(tenantID); err != nil {
			return err
		}
		return tx.setMove(tenantID, tenant.Move{})
	})
}

// Forward implements move.Store.
func (s *Store) Forward(ctx context.Context, tenantID uuid.UUID, to string, act audit.Act) error {
	return s.act(ctx, act, func(tx *Tx) error {
		row, err := tx.lockLeaving(tenantID)
		if err != nil {
			return err
		}
		row.Move.To = to
		return tx.setMove(tenantID, row.Move)
	})
}

// UnderWay implements move.Store. A delivery whose lease has run out is not under way:
// its process has stopped.
func (s *Store) UnderWay(ctx context.Context, tenantID uuid.UUID) (int64, error) {
	return view(ctx, s, func(tx *Tx) (n int64, err error) {
		return n, tx.db.Table("webhook_events").
			Where("tenant_id = ? AND status = 'pending' AND lease_token IS NOT NULL AND next_attempt_at > ?", tenantID,
				tx.dbNow()).Count(&n).Error
	})
}

// departPage is how many rows Departing reads by one statement.
const departPage = 500

// Departing implements move.Store.
func (s *Store) Departing(ctx context.Context, tenantID uuid.UUID, visit func(move.Record) error) error {
	var opts []*sql.TxOptions // SQLite reads one snapshot in any transaction
	if s.postgres != nil {
		opts = append(opts, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	}
	db := s.reader.WithContext(ctx).Begin(opts...)
	if db.Error != nil {
		return translate(db.Error)
	}
	defer db.Rollback()
	tx := s.tx(db)
	if row, err := takeTenant(tx.db, "id = ?", tenantID.String()); err != nil {
		return err
	} else if row.Move.State != tenant.MoveLeaving {
		return fault.New(fault.Conflict, "the tenant is not leaving")
	}
	for _, p := range parts {
		if err := tx.departPart(p, tenantID, visit); err != nil {
			return err
		}
	}
	rows, err := tx.recordsOf(move.Members, tx.db.Raw(`
		SELECT u.email, u.name, m.role FROM memberships m JOIN users u ON u.id = m.user_id
		WHERE m.tenant_id = ? ORDER BY m.created_at, m.user_id`, tenantID))
	if err != nil {
		return err
	}
	return visitAll(rows, visit)
}

func visitAll(rows []move.Record, visit func(move.Record) error) error {
	for _, r := range rows {
		for _, column := range unset[r.Table] {
			r.Row[column] = nil
		}
		if r.Table == "tenants" {
			for _, column := range moveColumns {
				delete(r.Row, column)
			}
		}
		if err := visit(r); err != nil {
			return err
		}
	}
	return nil
}

// moveColumns are the columns of a tenant that stay with each database.
var moveColumns = []string{"move_state", "move_id", "move_to"}

// departPart visits a tenant's rows of a table, page by page, each page followed by the
// rows that belong to it.
func (tx *Tx) departPart(p departing, tenantID uuid.UUID, visit func(move.Record) error) error {
	where, of := p.where, any(tenantID)
	switch {
	case where == "":
		where = "tenant_id = ?"
	case p.table == "fold_marks":
		of = []string{markOf(insight.SumSessions, tenantID), markOf(insight.SumLedger, tenantID)}
	case strings.HasPrefix(where, "scope"):
		of = string(audit.OfTenant(tenantID))
	}
	columns := strings.Join(p.key, ", ")
	var last []any
	for {
		q := tx.db.Table(p.table).Where(where, of).Order(columns).Limit(departPage)
		if last != nil {
			q = q.Where("("+columns+") > (?"+strings.Repeat(", ?", len(p.key)-1)+")", last...)
		}
		rows, err := tx.recordsOf(p.table, q)
		if err != nil || len(rows) == 0 {
			return err
		}
		last = make([]any, len(p.key))
		for i, column := range p.key {
			last[i] = rows[len(rows)-1].Row[column]
		}
		belonging, err := tx.belonging(p, rows)
		if err != nil {
			return err
		}
		if err := visitAll(append(rows, belonging...), visit); err != nil {
			return err
		}
		if len(rows) < departPage {
			return nil
		}
	}
}

// belonging returns the rows of other tables that belong to rows of a part.
func (tx *Tx) belonging(p departing, rows []move.Record) (all []move.Record, err error) {
	for _, c := range p.of {
		parents := make([]any, len(rows))
		for i, r := range rows {
			parents[i] = r.Row[c.parent]
		}
		found, err := tx.recordsOf(c.table, tx.db.Table(c.table).Where(c.column+" IN ?", parents))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// recordsOf returns the rows of a query with the values that the drivers give.
func (tx *Tx) recordsOf(table string, query *gorm.DB) ([]move.Record, error) {
	rows, err := query.Rows()
	if err != nil {
		return nil, translate(err)
	}
	defer rows.Close() //nolint:errcheck // Err says what went wrong
	columns, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	var records []move.Record
	for rows.Next() {
		values, places := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			places[i] = &values[i]
		}
		if err := rows.Scan(places...); err != nil {
			return nil, translate(err)
		}
		row := move.Row{}
		for i, column := range columns {
			value := values[i]
			if n, ok := value.(int64); ok && column.DatabaseTypeName() == "BOOLEAN" { // SQLite's are numbers
				value = n != 0
			}
			row[column.Name()] = value
		}
		records = append(records, move.Record{Table: table, Row: row})
	}
	return records, translate(rows.Err())
}
