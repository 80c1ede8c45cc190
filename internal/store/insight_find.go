package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"agegate/internal/backoffice/insight"
)

// orderNumber is the number at the end of an order. Such expressions are written as in the
// migrations, because otherwise the databases would not use the indexes.
const orderNumber = "ltrim(substr(order_ref, length(rtrim(order_ref, '0123456789')) + 1), '0')"

// FindSessions implements insight.Store.
func (s *Store) FindSessions(
	ctx context.Context, scope insight.Scope, by insight.Name, text string, now time.Time, limit int,
) ([]insight.SessionRow, error) {
	return view(ctx, s, func(tx *Tx) (found []insight.SessionRow, err error) {
		names := spellings(text)
		if by == insight.IDEnd {
			if names, err = tx.idsEnding("sessions", text, limit); err != nil {
				return nil, err
			}
		}
		for _, name := range names {
			var rows []insight.SessionRow
			statement, args := findStatement(tx.postgres, scope, by, name, limit-len(found))
			err = tx.db.Raw(statement, args...).Find(&rows).Error
			if found = append(found, rows...); err != nil || len(found) == limit {
				break
			}
		}
		return effective(found, now), err
	})
}

// FindEvents implements insight.Store.
func (s *Store) FindEvents(ctx context.Context, tenantID uuid.UUID, end string, limit int) ([]string, error) {
	return view(ctx, s, func(tx *Tx) (found []string, err error) {
		ids, err := tx.idsEnding("webhook_events", end, limit)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		return found, tx.db.Raw("SELECT id FROM webhook_events WHERE tenant_id = ? AND id IN ? ORDER BY id DESC",
			tenantID.String(), ids).Scan(&found).Error
	})
}

// idsEnding returns the IDs in a table, of all tenants, that end with a text of at least
// 3 characters, the newest first.
func (tx *Tx) idsEnding(table, text string, limit int) (ids []string, err error) {
	text = strings.ToLower(text)
	return ids, tx.db.Raw(endStatement(table, limit), text[max(0, len(text)-3):], "%"+text).Scan(&ids).Error
}

func endStatement(table string, limit int) string {
	return fmt.Sprintf(`SELECT id FROM %s WHERE substr(CAST(id AS text), %d) = ? AND CAST(id AS text) LIKE ?
		ORDER BY id DESC LIMIT %d`, table, len(greatestID(table))-2, limit)
}

// findStatement returns the query for a name, or for the ID with an end, and its arguments. A condition that
// says nothing new repeats the condition of the index, so that the index can be used.
func findStatement(postgres bool, scope insight.Scope, by insight.Name, name string, limit int) (string, []any) {
	orderKey := "lower(order_ref)" // SQLite changes ASCII letters alone
	if postgres {
		orderKey = `lower(order_ref COLLATE "C")`
	}
	where, sort, args := "", "id DESC", []any{name}
	switch by {
	case insight.IDEnd:
		where = "id = ?"
	case insight.Order:
		where = orderKey + " = ? AND order_ref <> ''"
	case insight.OrderStart:
		where, sort = orderKey+" >= ? AND "+orderKey+" < ? AND order_ref <> ''", orderKey
		args = append(args, name+string(utf8.MaxRune))
	case insight.OrderNumber:
		where, args = orderNumber+" = ? AND order_ref <> "+orderNumber, []any{strings.TrimLeft(name, "0")}
	}
	return fmt.Sprintf("SELECT %s FROM sessions WHERE tenant_id = ? AND livemode = %t AND %s ORDER BY %s LIMIT %d",
		listColumns+untold, scope.Livemode, where, sort, limit), slices.Concat([]any{scope.TenantID.String()}, args)
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
