package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"agegate/internal/backoffice/insight"
)

// Expressions of the indexes that FindSessions reads. They are written as in the
// migrations, because otherwise the databases would not use the indexes.
const (
	idEnd       = "substr(CAST(id AS text), 29)" // the last 8 characters
	orderNumber = "ltrim(substr(order_ref, length(rtrim(order_ref, '0123456789')) + 1), '0')"
)

// FindSessions implements insight.Store.
func (s *Store) FindSessions(
	ctx context.Context, scope insight.Scope, by insight.Name, text string, now time.Time, limit int,
) ([]insight.SessionRow, error) {
	return view(ctx, s, func(tx *Tx) (found []insight.SessionRow, err error) {
		for _, spelling := range spellings(text) {
			var rows []insight.SessionRow
			statement, args := findStatement(tx.postgres, scope, by, spelling, limit-len(found))
			err = tx.db.Raw(statement, args...).Find(&rows).Error
			if found = append(found, rows...); err != nil || len(found) == limit {
				break
			}
		}
		return effective(found, now), err
	})
}

// findStatement returns the query for one spelling, and its arguments. A condition that
// says nothing new repeats the condition of the index, so that the index can be used.
func findStatement(postgres bool, scope insight.Scope, by insight.Name, text string, limit int) (string, []any) {
	orderKey := "lower(order_ref)" // SQLite changes ASCII letters alone
	if postgres {
		orderKey = `lower(order_ref COLLATE "C")`
	}
	where, sort, args := "", "id DESC", []any{text}
	switch by {
	case insight.IDEnd:
		where, args = idEnd+" = ? AND CAST(id AS text) LIKE ?", []any{text[max(0, len(text)-8):], "%" + text}
	case insight.Order:
		where = orderKey + " = ? AND order_ref <> ''"
	case insight.OrderStart:
		where, sort = orderKey+" >= ? AND "+orderKey+" < ? AND order_ref <> ''", orderKey
		args = append(args, text+string(utf8.MaxRune))
	case insight.OrderNumber:
		where, args = orderNumber+" = ? AND order_ref <> "+orderNumber, []any{strings.TrimLeft(text, "0")}
	}
	return fmt.Sprintf("SELECT %s FROM sessions WHERE tenant_id = ? AND livemode = %t AND %s ORDER BY %s LIMIT %d",
		listColumns, scope.Livemode, where, sort, limit), slices.Concat([]any{scope.TenantID.String()}, args)
}

// spellings returns the forms of a text for which the index is searched. The index has
// ASCII letters in lower case; others may be in either case.
func spellings(text string) []string {
	all := []string{text, strings.ToLower(text), strings.ToUpper(text)}
	for i, spelling := range all {
		all[i] = strings.Map(func(c rune) rune {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			return c
		}, spelling)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
