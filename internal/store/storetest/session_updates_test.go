package storetest

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/google/uuid"

	"agegate/internal/rules/session"
)

// The states of a session that a conditional update may find, and whether the
// update applies. Each is tried on a session that expires at start + 30 min.
func TestConditionalUpdates(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		bystander := newSession(t, s, owner)
		at := stored(start)
		inTime, tooLate := bystander.ExpiresAt.Add(-microsecond), bystander.ExpiresAt
		for _, row := range []struct {
			name  string
			state func(*session.Session)
			late  bool
			want  bool
		}{
			{"before the time", func(*session.Session) {}, false, false},
			{"at the time", func(*session.Session) {}, true, true},
			{"a completed one", func(s *session.Session) { s.Status, s.CompletedAt = session.StatusPassed, &at }, true, false},
			{"again", func(s *session.Session) { s.Status = session.StatusExpired }, true, false},
		} {
			before, now := sessionOf(t, owner), inTime
			if row.late {
				now = tooLate
			}
			row.state(&before)
			inTx(t, s, func(tx session.Tx) error { return tx.InsertSessions(before) })
			got, err := s.ExpireSession(t.Context(), before.ID, now)
			want := before
			if row.want {
				want.Status = session.StatusExpired
			}
			if after := byLink(t, s, before); err != nil || got != row.want || !reflect.DeepEqual(after, want) {
				t.Errorf("expire %s: %t, %v, and the session is %+v", row.name, got, err, after)
			}
		}
		for n, browser := range []string{"first", "second"} {
			bound, err := s.BindBrowser(t.Context(), bystander.ID, digest(browser))
			if err != nil || bound != (n == 0) || !bytes.Equal(byLink(t, s, bystander).BrowserHash, digest("first")) {
				t.Errorf("binding the %s browser: %t, %v", browser, bound, err)
			}
		}
		if got, err := s.ExpireSession(t.Context(), uuid.New(), tooLate); err != nil || got {
			t.Errorf("a missing session: %t, %v", got, err)
		}
	})
}
