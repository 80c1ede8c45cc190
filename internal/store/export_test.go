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
	explain := "EXPLAIN QUERY PLAN "
	if tx.postgres {
		explain = "EXPLAIN "
	}
	statement, args := findStatement(tx.postgres, scope, by, text, 10)
	if by == insight.IDEnd {
		statement, args = endStatement("sessions", 10), []any{text[5:], "%" + text}
	}
	var plan []map[string]any
	err := tx.db.Raw(explain+statement, args...).Scan(&plan).Error
	return fmt.Sprint(plan), err
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
