package account

import (
	"testing"
	"time"

	"github.com/google/uuid"
)

// TestInside: only an operator, only the tenant entered, only until the end.
func TestInside(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	until, entered := now.Add(EntryTTL), uuid.New()
	for name, tt := range map[string]struct {
		operator bool
		tenant   *uuid.UUID
		until    *time.Time
		asked    uuid.UUID
		at       time.Time
		want     bool
	}{
		"entered":        {true, &entered, &until, entered, now, true},
		"at the end":     {true, &entered, &until, entered, until, false},
		"another tenant": {true, &entered, &until, uuid.New(), now, false},
		"no operator":    {false, &entered, &until, entered, now, false},
		"not entered":    {true, nil, nil, entered, now, false},
		"without an end": {true, &entered, nil, entered, now, false},
	} {
		who := Identity{user: User{Operator: tt.operator}, login: Login{EnteredTenant: tt.tenant, EnteredUntil: tt.until}}
		if got := who.inside(tt.asked, tt.at); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
