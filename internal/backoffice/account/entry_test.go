package account

import (
	"slices"
	"testing"
	"time"

	"agegate/internal/rules/audit"

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

// logs notes in which order entries are written.
type logs struct {
	Tx
	scopes []audit.Scope
}

func (l *logs) AppendAudit(act audit.Act) error {
	l.scopes = append(l.scopes, act.Scope)
	return nil
}

// TestLogsAreLockedInOneOrder: a transaction that writes to several logs locks those of tenants by their IDs, and the
// instance's last, so that two transactions never wait for each other.
func TestLogsAreLockedInOneOrder(t *testing.T) {
	t.Parallel()
	first, second := audit.OfTenant(uuid.UUID{1}), audit.OfTenant(uuid.UUID{15: 1, 0: 0xff})
	var l logs
	err := write(&l, []audit.Act{{Scope: audit.Instance}, {Scope: second}, {Scope: first}, {Scope: second}}, nil)
	if err != nil || !slices.Equal(l.scopes, []audit.Scope{first, second, second, audit.Instance}) {
		t.Errorf("the logs are %v, %v", l.scopes, err)
	}
}
