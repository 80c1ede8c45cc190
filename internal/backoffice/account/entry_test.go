package account

import (
	"testing"
	"time"

	"github.com/google/uuid"
)

// TestInside: only an operator with a second factor is inside, only in the tenant
// entered, and only until the entry ends.
func TestInside(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	until, entered := now.Add(EntryTTL), uuid.New()
	for name, tt := range map[string]struct {
		operator bool
		by       Method
		tenant   *uuid.UUID
		until    *time.Time
		asked    uuid.UUID
		at       time.Time
		want     bool
	}{
		"entered":        {true, ByPasskey, &entered, &until, entered, now, true},
		"at the end":     {true, ByPasskey, &entered, &until, entered, until, false},
		"another tenant": {true, ByPasskey, &entered, &until, uuid.New(), now, false},
		"no operator":    {false, ByPasskey, &entered, &until, entered, now, false},
		"not entered":    {true, ByPasskey, nil, nil, entered, now, false},
		"weak":           {true, ByPassword, &entered, &until, entered, now, false},
		"without an end": {true, ByPasskey, &entered, nil, entered, now, false},
	} {
		who := Identity{user: User{Operator: tt.operator},
			login: Login{Methods: []Method{tt.by}, EnteredTenant: tt.tenant, EnteredUntil: tt.until}}
		if got := who.inside(tt.asked, tt.at); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
