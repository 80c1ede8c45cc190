package storetest

import (
	"slices"
	"strings"
	"testing"

	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/session"

	"github.com/google/uuid"
)

// TestSessionsAreFoundByTheirNames covers every name by which a person may call a
// session. Sessions of the other mode or of another tenant are not found.
func TestSessionsAreFoundByTheirNames(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner, other := newTenant(t, s), newTenant(t, s)
		scope := insight.Scope{TenantID: owner.ID, Livemode: true}
		orders := []string{"", "1042", "10421", "AB-1042", "Ab-7", "2026-00517", "00517", "ÄB-8", "ab-1_2", "1042"}
		ids := make([]uuid.UUID, len(orders))
		for i, order := range orders {
			made := sessionOf(t, owner)
			made.ID[11] = 0 // what comes before the last eight digits is no f
			made.OrderRef, ids[i] = order, made.ID
			foreign, test := sessionOf(t, other), sessionOf(t, owner)
			foreign.OrderRef, test.OrderRef, test.Livemode = order, order, false
			inTx(t, s, func(tx session.Tx) error { return tx.InsertSessions(made, foreign, test) })
		}
		whole := ids[3].String()
		for _, tt := range []struct {
			by   insight.Name
			text string
			want []int // indexes of orders
		}{
			{insight.IDEnd, whole[28:], []int{3}}, {insight.IDEnd, strings.ToUpper(whole[28:]), []int{3}},
			{insight.IDEnd, whole[20:], []int{3}}, {insight.IDEnd, "f" + whole[28:], nil}, {insight.IDEnd, whole[29:], []int{3}},
			{insight.Order, "1042", []int{9, 1}}, {insight.Order, "ab-1042", []int{3}}, {insight.Order, "AB-7", []int{4}},
			{insight.Order, "äb-8", []int{7}}, {insight.Order, "104", nil}, {insight.Order, "", nil},
			{insight.OrderStart, "104", []int{1, 9, 2}}, {insight.OrderStart, "aB-1", []int{3, 8}},
			{insight.OrderStart, "äb", []int{7}}, {insight.OrderStart, "%", nil}, {insight.OrderStart, "00517", []int{6}},
			{insight.OrderNumber, "1042", []int{3}}, {insight.OrderNumber, "517", []int{6, 5}},
			{insight.OrderNumber, "000517", []int{6, 5}}, {insight.OrderNumber, "42", nil}, {insight.OrderNumber, "2", []int{8}},
		} {
			found, err := s.FindSessions(t.Context(), scope, tt.by, tt.text, start, 10)
			wantNoError(t, err)
			var got []int
			for _, row := range found {
				got = append(got, slices.Index(ids, row.ID))
			}
			if tt.by == insight.OrderStart { // of the same order, any comes first
				slices.Sort(got)
				slices.Sort(tt.want)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%d %q: %v, want %v", tt.by, tt.text, got, tt.want)
			}
		}
		if found, err := s.FindSessions(t.Context(), scope, insight.OrderStart, "1", start, 2); err != nil || len(found) != 2 {
			t.Errorf("at most 2: %d, %v", len(found), err)
		}
	})
}
