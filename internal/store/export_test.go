package store

import (
	"context"
	"errors"
	"fmt"

	"agegate/internal/backoffice/insight"
)

// Exec runs any statement, to bring a test's database into a state that the
// gateway itself never creates.
func (tx *Tx) Exec(statement string, args ...any) error {
	return tx.db.Exec(statement, args...).Error
}

// Count returns the single number a query selects.
func (tx *Tx) Count(query string, args ...any) (n int64, err error) {
	return n, tx.db.Raw(query, args...).Scan(&n).Error
}

// FindPlan returns the plan of the query with which FindSessions begins.
func (tx *Tx) FindPlan(scope insight.Scope, by insight.Name, text string) (string, error) {
	statement, args := findStatement(tx.postgres, scope, by, text, 10)
	if by == insight.IDEnd {
		statement, args = endStatement("sessions", 10), []any{text[5:], "%" + text}
	}
	return tx.explain(statement, args...)
}

func (tx *Tx) explain(statement string, args ...any) (string, error) {
	explain := "EXPLAIN QUERY PLAN "
	if tx.postgres {
		explain = "EXPLAIN "
	}
	var plan []map[string]any
	err := tx.db.Raw(explain+statement, args...).Scan(&plan).Error
	return fmt.Sprint(plan), err
}

// PlanOfMany returns the plan of a query that PostgreSQL would make for a table of many rows.
func (tx *Tx) PlanOfMany(statement string) (string, error) {
	if tx.postgres {
		if err := tx.db.Exec("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off").Error; err != nil {
			return "", err
		}
	}
	return tx.explain(statement)
}

// MigrateTo migrates up or down to a version.
func (s *Store) MigrateTo(ctx context.Context, version int64) error {
	provider, done, err := s.provider(s.postgres)
	if err != nil {
		return err
	}
	if now, err := provider.GetDBVersion(ctx); err == nil && now > version {
		_, err = provider.DownTo(ctx, version)
		return errors.Join(err, done())
	}
	_, err = provider.UpTo(ctx, version)
	return errors.Join(err, done())
}
